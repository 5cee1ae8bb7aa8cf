"""Properties and worlds that the database operator is proved with."""
