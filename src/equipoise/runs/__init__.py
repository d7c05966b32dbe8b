"""The run file and the pump that fills it."""
