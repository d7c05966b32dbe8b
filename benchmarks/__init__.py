"""Benchmarks of equipoise and of comparable tools, on the same machine in the same run: `python -m benchmarks`."""
