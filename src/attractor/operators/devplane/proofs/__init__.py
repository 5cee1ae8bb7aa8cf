"""What is proved of the developer control plane: properties and worlds."""
