"""Command line of wmo-score."""
