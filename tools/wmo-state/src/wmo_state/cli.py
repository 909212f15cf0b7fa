"""Command line of wmo-state."""
