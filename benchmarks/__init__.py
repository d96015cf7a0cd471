"""Time and quality of tercet beside its peer, measured in one run: ``python -m benchmarks``."""
