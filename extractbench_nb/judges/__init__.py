"""Judges: who decides that two texts mean the same."""
