"""Specifications: ``Spec``, the vocabulary of its declarations, values and properties."""
