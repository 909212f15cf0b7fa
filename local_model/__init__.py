"""`make run-local-model`: real episodes with a real, very small model on loopback (docs/local-model.md)."""
