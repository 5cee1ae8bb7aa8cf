"""The controllers of the edge operator: the coordinator's and the agent's."""
