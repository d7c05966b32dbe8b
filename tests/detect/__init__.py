"""Visible text and detectors."""
