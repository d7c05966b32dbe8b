"""Tests of measuring, and the small probe that they share."""
