"""What is proved of the edge operator: properties, worlds, models of outside systems."""
