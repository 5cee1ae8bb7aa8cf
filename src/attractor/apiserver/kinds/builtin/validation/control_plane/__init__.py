"""Rules of the kinds that configure the API server itself."""
