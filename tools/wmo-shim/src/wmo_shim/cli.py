"""Command line of wmo-shim."""
