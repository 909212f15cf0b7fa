"""Tasks, environments and verifiers."""
