"""The developer control plane: the parts of an application as objects, run on this machine while it is worked on."""
