"""Authentication over HTTP: tokens, client certificates, impersonation, the server's own authority."""
