"""Servers for tests."""
