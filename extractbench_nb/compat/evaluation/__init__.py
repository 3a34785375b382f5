"""The package ``extract_bench.evaluation``: `metrics` is all that the README imports from it."""
