"""Guards around code under check: no waiting, no event loop, nothing from outside, no hidden memory."""
