"""Operators that ship with Attractor, each with its types, controllers and properties."""
