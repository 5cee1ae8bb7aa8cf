"""The real machine behind the developer control plane: processes with their files, probes, and proxies of services."""
