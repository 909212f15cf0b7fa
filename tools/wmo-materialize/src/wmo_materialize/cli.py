"""Command line of wmo-materialize."""
