"""What is proved of the IRSA operator: properties, worlds, and the model of IAM in them."""
