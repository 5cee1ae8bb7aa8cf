"""Configuration of a client: the server's address, TLS, and credentials that may change while it runs.

``config`` is what a transport is given, ``kubeconfig`` reads it from files, ``credentials`` are tokens, certificates
and exec plugins.
"""
