"""Ask a coding agent for the next candidate."""
