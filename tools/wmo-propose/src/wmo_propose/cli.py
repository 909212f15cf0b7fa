"""Command line of wmo-propose."""
