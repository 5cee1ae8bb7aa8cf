"""Worlds that prove the workload controllers: what may happen around them, and what must be true all the same.

    attractor check attractor.workloads.proofs.replica_sets

Each module has the worlds of one controller, and beside each right controller a wrong one that the checker finds.
"""
