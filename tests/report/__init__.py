"""Tests of the report: on runs of invented models, in a real browser."""
