"""Command line of wmo-offline."""
