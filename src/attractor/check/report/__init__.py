"""Stories: runs of a world for people. Text for a terminal, a space-time diagram for a browser, JSON for programs.

Read ``story`` first (what there is to show), then ``story_builder`` (how a trace of a world becomes a story), ``table``
and ``diagram`` (how it is shown), ``counterexample`` (the file in which a counterexample is kept).
"""

from attractor.check.report.story import BadStory, Change, Lane, Message, Step, Story

__all__ = ["BadStory", "Change", "Lane", "Message", "Step", "Story"]
