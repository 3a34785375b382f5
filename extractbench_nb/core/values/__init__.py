"""core.values."""
