"""Properties and worlds that the developer control plane is proved with."""
