"""The agent's process of a kit-python harness: `python3 -m kit_python` in the runner's folder.

The folder is copied there for every episode and runs on the box's own Python (3.11 or newer), so it imports the
standard library and itself, nothing else.
"""
