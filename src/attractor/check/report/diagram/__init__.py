"""A story as a space-time diagram: one HTML file that needs no network and works from ``file://``.

Time goes down, one row a step; each party has a lane; arrows are messages, and those that got lost end in a cross.
``layout`` decides where things are, ``drawing`` makes SVG of it, ``page`` puts both into a page with what was there at
each step. The diagram is there without JavaScript; a script only shows the step that was clicked.
"""

from attractor.check.report.diagram.page import page

__all__ = ["page"]
