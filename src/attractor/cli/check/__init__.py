"""Shared by the commands about specifications, worlds and counterexamples.

``targets`` finds what ``MODULE:NAME`` means, ``progress`` tells how far a search is, ``rerun`` decides again in another
process, ``recorded_runs`` follows a recorded run in a world, and ``counterexamples`` reads their files.
"""
