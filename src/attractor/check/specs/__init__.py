"""Specifications that ship with the checker, each with a test that pins its counts."""
