"""Serve one episode to an agent process."""
