"""Tools for the tests of those who write controllers and specifications. ``plugin`` is loaded by pytest itself."""
