"""Containers of this machine: what operators need of a container runtime, and the runtime behind its unix socket.

Read ``runtime`` first: the protocol, what is asked for and what is found. ``engine`` speaks Docker's HTTP API, which
Docker and Podman serve; ``bodies`` translates, ``http`` carries. ``model`` stands for a runtime in worlds of the
checker; a conformance test runs one script on it and on the real one.
"""
