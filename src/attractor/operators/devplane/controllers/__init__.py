"""The controllers of the developer control plane; ``declarations`` puts them together."""
