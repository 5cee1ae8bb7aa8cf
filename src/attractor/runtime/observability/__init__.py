"""Logs, metrics, Events, traces and the health server of a manager.

Guarantees: none of them blocks or fails a reconcile. ``field_logger`` and ``failure_log`` write logs, ``metrics``
counts (at ``metered_queue`` and ``metered_transport``), ``events`` records Kubernetes Events, ``tracing`` makes
OpenTelemetry spans, ``health_server`` serves ``/healthz``, ``/readyz`` and ``/metrics``; ``own_lines`` finds the
author's own line in a stack.
"""
