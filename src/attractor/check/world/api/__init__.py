"""What an author of worlds uses: ``World``, ``Faults``, users, properties, ``WorldState``."""
