"""Runs: `file/` is the SQLite file, `ask/` the pump that fills it, `start` and `resume` open sessions, `run` reads.

Here belongs what turns a plan and a model into stored answers. Measuring them and showing them does not.
"""
