"""The API server of a world: the production core, on a store kept in slots. Read ``api_server``, then ``storage``."""
