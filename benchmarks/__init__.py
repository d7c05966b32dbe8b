"""Side by side with peers, on the same machine in the same run: `python -m benchmarks`."""
