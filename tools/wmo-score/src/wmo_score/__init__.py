"""Score a harness on a suite of tasks."""
