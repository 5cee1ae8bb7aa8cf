"""The kinds of the developer control plane, application files, templates."""
