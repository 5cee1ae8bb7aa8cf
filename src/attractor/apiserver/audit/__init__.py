"""Auditing: Kubernetes' audit events and the policy that chooses them (``audit.k8s.io/v1``).

Guarantees: at level Metadata nothing of a body or of an answer's object but what tells it from others (name, namespace,
uid, resourceVersion) is in an event, and never a credential, whatever was sent and however it was refused; an event is
one line of JSON. Pure: no clock, no file.

Read ``policy`` first (which requests, how much of them), then ``event`` (what a line says). Who drives them is
``attractor.httpd.audit.trail`` (one request's life), and ``attractor.httpd.audit.file`` (where the lines go).
"""
