"""Harness document to directory and back."""
