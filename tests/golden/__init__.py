"""Conversations recorded with a real kube-apiserver, and their replay against ours."""
