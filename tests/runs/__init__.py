"""The run file and the pump."""
