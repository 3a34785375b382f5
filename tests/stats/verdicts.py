"""Rows of `fields` with verdicts, for the tests of agreement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def side(verdicts: Any, documents: int = 0, **columns: Any) -> pd.DataFrame:
    """Rows of `fields`, one a verdict, dealt to so many documents."""
    size = len(verdicts)
    frame = pd.DataFrame({"path": [f"$.f{i}" for i in range(size)], "metric": "string_exact"})
    frame["passed"] = pd.array(verdicts, dtype="boolean")
    if documents:
        frame["document"] = [f"d{i % documents}" for i in range(size)]
    return frame.assign(**columns)


def noisy(size: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.random(size) < 0.7
    return a, a ^ (rng.random(size) < share)
