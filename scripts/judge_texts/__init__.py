"""Texts, and seeded edits of them, for `judge_errors.py`."""
