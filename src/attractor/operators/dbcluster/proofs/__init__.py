"""What is proved of the database operator: properties and worlds."""
