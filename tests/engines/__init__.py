"""Tests of `equipoise.engines`."""
