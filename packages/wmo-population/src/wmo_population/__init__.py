"""The run directory and the search: slots, boundaries, resume, selection."""
