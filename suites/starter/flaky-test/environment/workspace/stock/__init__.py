"""What is on the shelves of the warehouse."""
