"""The simulation of a world: production parts, run step by step on slots of the checker's state.

Read ``model`` first (a world as a model: its steps and claims), then ``slots`` (how production code comes to run on a
state vector), ``server`` and ``process``. ``user_actions``, ``fault_actions`` and ``externals`` are steps of others;
``walk`` takes steps one by one, for stories and tests.
"""
