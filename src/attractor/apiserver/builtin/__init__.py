"""The rules of Kubernetes' own kinds."""
