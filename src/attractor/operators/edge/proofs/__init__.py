"""Properties, worlds and models of outside systems that the edge operator is proved with."""
