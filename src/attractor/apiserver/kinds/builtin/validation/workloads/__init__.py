"""Rules of the kinds that make pods: deployments, jobs, autoscalers and their like."""
