"""The controllers of the IRSA operator; ``declarations`` puts them together."""
