"""Parts of ``fuzz_evaluator.py``: cases, the properties that must hold, shrinking and workers."""
