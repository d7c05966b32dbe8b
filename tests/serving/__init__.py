"""Chat endpoints for tests, on this machine."""
