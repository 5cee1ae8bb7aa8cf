"""Properties, worlds and the model of IAM that the IRSA operator is proved with."""
