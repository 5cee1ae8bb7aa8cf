"""Rules of services and of their addresses."""
