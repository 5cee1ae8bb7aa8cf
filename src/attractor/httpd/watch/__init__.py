"""Watch streams: one change, encoded once, for any number of watchers."""
