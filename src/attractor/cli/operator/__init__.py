"""Shared by the commands that run controllers: where they are, how they are reloaded, and how they are stopped.

``operator_module`` finds the controllers of ``MODULE[:NAME]``, which ``python_modules`` imports; ``reload`` watches its
files; ``blocking_watch`` names a line that holds up the event loop; ``stop_signals`` says what SIGTERM and SIGINT mean.
"""
