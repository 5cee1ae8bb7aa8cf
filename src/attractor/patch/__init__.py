"""The three patch formats that change a document directly: JSON patch, merge patch and strategic merge patch.

All functions are pure: they never change their arguments, and share with them what did not change. Server-side apply
is in ``attractor.apply``.
"""
