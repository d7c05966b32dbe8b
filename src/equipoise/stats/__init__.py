"""Summarise, resample, measure, mark, compare: pure, no I/O, no clock, seeded."""
