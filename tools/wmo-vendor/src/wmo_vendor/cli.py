"""Command line of wmo-vendor."""
