"""Data and weights from outside, and the packaged facts."""
