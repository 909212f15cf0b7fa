"""Serve the offline model on loopback."""
