"""Materialise and check the vendored pi."""
