"""Make, read and verify a run directory."""
