"""Compose files as objects of the developer control plane.

``document`` reads files as the Compose Specification says (interpolation, merging, ``extends``, ``include``, profiles),
and knows the line of everything; ``fields`` reads the short forms of ports, volumes, durations and the like;
``translation`` makes objects of services, networks, volumes, configs and secrets. All is pure: files are read by a
function that is handed in.

What cannot be translated is refused with its line, where leaving it out would change what the application does; where
it would not, it is left out with a note that names the line. Nothing is ignored silently.
"""
