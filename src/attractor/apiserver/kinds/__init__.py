"""The kinds that are served: built-in and custom ones, their strategies, metadata, versions and conversion."""
