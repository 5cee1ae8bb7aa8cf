"""The vocabulary of worlds: ``World``, ``Faults``, users, properties, ``WorldState``."""
