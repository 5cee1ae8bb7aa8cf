"""Stories: runs of a world for people. Text for a terminal, a space-time diagram for a browser, JSON for programs.

Read ``story`` first (the records of a run), then ``story_builder`` (how a trace of a world becomes records, with
``lanes`` and ``messages``), ``table`` and ``diagram`` (how they are shown), ``counterexample`` (the file).
"""

from attractor.check.report.story import BadStory, Change, Lane, Message, Part, Step, Story

__all__ = ["BadStory", "Change", "Lane", "Message", "Part", "Step", "Story"]
