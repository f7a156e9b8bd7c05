"""Benchmarks: ratios measured in one run, on one machine, against the same simulated provider."""
