"""Rules of volumes, claims, devices and their drivers."""
