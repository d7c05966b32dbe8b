"""Results as text for terminals and pipelines; what is printed when, and progress, belongs to `cli/`."""
