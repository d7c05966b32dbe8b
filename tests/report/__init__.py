"""The report: made of runs of models that do not exist, looked at in a real browser."""
