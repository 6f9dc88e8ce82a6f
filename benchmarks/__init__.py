"""Ratios of this project to a floor, or to a peer, measured in the same run: `python -m benchmarks --help`."""
