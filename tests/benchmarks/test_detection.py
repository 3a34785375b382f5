"""Average precision of detected objects beside pycocotools."""

import contextlib
import io
import random
from typing import Any

import pytest

import extractbench_nb as xb

LABELS = xb.tables.STRUCTURE_LABELS
GROUP = "average precision, 6 images of tables at a time"
Case = list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]


def cases(count: int) -> list[Case]:
    """Images with true objects, and predicted ones near them or false."""
    rng = random.Random(0)

    def box() -> list[float]:
        x, y = rng.uniform(0, 700), rng.uniform(0, 700)
        return [x, y, x + rng.uniform(10, 300), y + rng.uniform(10, 60)]

    def image() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        true = [{"label": rng.choice(LABELS), "bbox": box()} for _ in range(25)]
        near = [
            one | {"bbox": [x + rng.uniform(-4, 4) for x in one["bbox"]], "score": rng.random()}
            for one in true
        ]
        false = [
            {"label": rng.choice(LABELS), "bbox": box(), "score": rng.random()} for _ in range(15)
        ]
        return true, near + false

    return [[image() for _ in range(6)] for _ in range(count)]


def ours(given: list[Case]) -> list[float]:
    found = (xb.tables.detection_scores(*zip(*case, strict=True)) for case in given)
    return [float(scores["AP"].iloc[-1]) for scores in found]


def of_pycocotools(given: list[Case]) -> list[float]:
    coco = pytest.importorskip("pycocotools.coco", reason="needs the extra bench")
    from pycocotools.cocoeval import COCOeval

    def in_coco(one: dict[str, Any]) -> dict[str, Any]:
        x0, y0, x1, y1 = one["bbox"]
        kind = LABELS.index(one["label"])
        box = {"bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0), "iscrowd": 0}
        return {"category_id": kind, "score": one.get("score", 1.0), **box}

    found = []
    for case in given:
        sides = [
            [in_coco(one) | {"image_id": n} for n, image in enumerate(case) for one in image[side]]
            for side in (0, 1)
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            truth = coco.COCO()
            truth.dataset = {
                "images": [{"id": n} for n in range(len(case))],
                "categories": [{"id": n} for n in range(len(LABELS))],
                "annotations": [one | {"id": n} for n, one in enumerate(sides[0], 1)],
            }
            truth.createIndex()
            scores = COCOeval(truth, truth.loadRes(sides[1]), "bbox")
            scores.evaluate()
            scores.accumulate()
            scores.summarize()
        found.append(float(scores.stats[0]))
    return found


@pytest.mark.parametrize("score", [ours, of_pycocotools])
def test_forty_cases(score: Any, timed: Any, benchmark: Any, quick: bool) -> None:
    given = cases(2 if quick else 40)
    name = "extractbench-nb" if score is ours else "pycocotools"
    found = timed(GROUP, name, score, given, rounds=3, warm=1)
    benchmark.extra_info["work"] = f"{len(given)} cases, reading of the objects included"
    assert found == pytest.approx(ours(given), abs=1e-9)
    assert all(0.2 < value < 0.9 for value in found)
