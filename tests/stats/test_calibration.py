"""Calibration, risk by coverage and review plans: by hand, against scikit-learn, in simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import extractbench_nb as xb
from extractbench_nb.errors import InputError
from extractbench_nb.stats.intervals import Drawing, weights_drawn

FAST: dict[str, Any] = {"resamples": 200}
Frames = tuple[pd.DataFrame, pd.DataFrame]


def frames(stated: Any, right: Any, document: Any, **more: Any) -> Frames:
    """Return values as fields, and their confidences."""
    size = len(stated)
    ids = {"document": [f"d{name}" for name in document], "path": [f"$.v{i}" for i in range(size)]}
    columns = {"predicted_path": None, "predicted_state": "present", "field": "v", "counted": True}
    fields = pd.DataFrame({**ids, **columns, "passed": np.asarray(right, dtype=bool), **more})
    return fields, pd.DataFrame({**ids, "confidence": np.asarray(stated, dtype=float)})


def sample(
    size: int, documents: int, seed: int = 0, *, calibrated: bool = True, digits: int = 12
) -> Frames:
    rng = np.random.default_rng([seed, size, documents])
    stated = rng.beta(4, 2, size).round(digits)
    right = rng.random(size) < (stated if calibrated else stated**2)
    return frames(stated, right, rng.integers(0, documents, size))


def row(found: xb.stats.Calibration) -> dict[str, float]:
    assert len(found.scores) == 1
    return dict(found.scores.iloc[0])


# --- calibration ----------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("size, documents", [(40, 3), (500, 20)])
def test_scores_are_those_of_scikit_learn(size: int, documents: int, digits: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    curve = pytest.importorskip("sklearn.calibration").calibration_curve
    fields, stated = sample(size, documents, digits=digits, calibrated=False)
    right, confidence = fields["passed"], stated["confidence"]
    found = xb.stats.calibration(fields, stated, bins=5, **FAST)
    scores = row(found)
    assert scores["brier"] == pytest.approx(metrics.brier_score_loss(right, confidence))
    assert scores["auroc"] == pytest.approx(metrics.roc_auc_score(right, confidence))
    if digits == 12:  # scikit-learn cuts ties in another way
        true, mean = curve(right, confidence, n_bins=5, strategy="quantile")
        assert found.bins["accuracy"].tolist() == pytest.approx(true.tolist(), abs=0.04)
        assert found.bins["confidence"].tolist() == pytest.approx(mean.tolist(), abs=0.04)
        assert found.bins["n"].tolist() == [size / 5] * 5


def test_ece_by_hand() -> None:
    stated = [0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9]
    right = [0, 0, 1, 0, 1, 1, 0, 0]
    found = xb.stats.calibration(*frames(stated, right, range(8)), bins=2, **FAST)
    assert found.bins["n"].tolist() == [4, 4]
    assert row(found)["ece"] == pytest.approx((0.05 + 0.4) / 2)
    assert row(found)["gap"] == pytest.approx(0.55 - 3 / 8)
    # ranks of right values 3 (of 1-4) and two of 5-8
    assert row(found)["auroc"] == pytest.approx((1.5 + 2 * (3 + 1)) / 15)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(0, 3)), min_size=1),
    st.integers(2, 12),
)
def test_what_holds_for_any_values(values: list[tuple[int, bool, int]], bins: int) -> None:
    tenths, right, document = zip(*values, strict=True)
    fields, stated = frames(np.array(tenths) / 10, right, document)
    found = xb.stats.calibration(fields, stated, bins=bins, resamples=100)
    scores, points = row(found), found.bins
    assert scores["accuracy_low"] <= scores["accuracy"] + 1e-9
    assert scores["accuracy_high"] >= scores["accuracy"] - 1e-9
    assert 0 <= scores["ece_debiased"] <= scores["ece"] + 1e-9
    assert abs(scores["gap"]) <= scores["ece"] + 1e-9
    assert pd.isna(scores["auroc"]) == (len(set(right)) == 1)
    assert points["n"].sum() == len(values)
    assert len(points) <= bins
    assert (points["highest"].iloc[:-1].to_numpy() < points["lowest"].iloc[1:].to_numpy()).all()
    backwards = xb.stats.calibration(fields.iloc[::-1], stated, bins=bins, resamples=100)
    assert row(backwards)["ece"] == pytest.approx(scores["ece"])


def test_ece_of_calibrated_confidences_is_biased_and_the_debiased_one_less() -> None:
    found = [row(xb.stats.calibration(*sample(200, 50, seed), **FAST)) for seed in range(30)]
    ece, debiased = (np.mean([one[name] for one in found]) for name in ("ece", "ece_debiased"))
    assert ece > 0.06
    assert debiased < 0.65 * ece


@pytest.mark.parametrize("right", [True, False])
def test_one_class_has_no_auroc_and_an_interval_that_is_not_a_point(right: bool) -> None:
    scores = row(xb.stats.calibration(*frames([0.9, 0.8], [right] * 2, [0, 1]), **FAST))
    assert pd.isna(scores["auroc"])
    assert pd.isna(scores["auroc_low"])
    assert scores["accuracy"] == float(right)
    assert scores["accuracy_high"] - scores["accuracy_low"] > 0.5


def test_all_or_nothing_documents_have_the_interval_of_clopper_and_pearson() -> None:
    right = np.arange(20) < 17
    fields, stated = frames(np.full(20, 0.5), right, range(20))
    scores = row(xb.stats.calibration(fields, stated, resamples=20_000))
    expected = stats.binomtest(17, 20).proportion_ci(0.95, method="exact")
    found = (scores["accuracy_low"], scores["accuracy_high"])
    assert found == pytest.approx((expected.low, expected.high), abs=0.01)


def test_repeating_the_values_of_documents_does_not_narrow_the_interval() -> None:
    stated, right = [0.9, 0.7, 0.4, 0.8] * 5, [1, 1, 0, 0] * 5
    once = row(xb.stats.calibration(*frames(stated, right, range(20)), **FAST))
    often = frames(np.repeat(stated, 9), np.repeat(right, 9), np.repeat(range(20), 9))
    repeated = row(xb.stats.calibration(*often, **FAST))
    for name in ("accuracy_low", "accuracy_high", "auroc_low", "ece_debiased"):
        assert repeated[name] == pytest.approx(once[name])


def test_groups_have_rows_of_their_own() -> None:
    fields, stated = sample(60, 6)
    fields["field"] = np.where(np.arange(60) < 20, "a", "b")
    found = xb.stats.calibration(fields, stated, by="field", **FAST)
    assert found.scores[["field", "n"]].values.tolist() == [["a", 20], ["b", 40]]
    alone = fields["field"] == "b"
    alone_found = xb.stats.calibration(fields[alone], stated[alone], **FAST)
    assert found.scores["brier"].iloc[1] == row(alone_found)["brier"]
    assert found.bins.groupby("field")["n"].sum().tolist() == [20, 40]
    assert "b: accuracy" in repr(found)
    assert "b: accuracy" in found._repr_html_()


# --- risk by coverage -----------------------------------------------------------------------------


def test_aurc_by_definition() -> None:
    fields, stated = (frame.assign(document=[*range(80)]) for frame in sample(80, 80, digits=12))
    found = xb.stats.risk_coverage(fields, stated, **FAST)
    order = np.argsort(-stated["confidence"].to_numpy())
    wrong = ~fields["passed"].to_numpy()[order]
    risks = np.cumsum(wrong) / np.arange(1, 81)
    assert found.aurc == pytest.approx(risks.mean())
    assert found.curve["risk"].tolist() == pytest.approx(risks.tolist())
    assert found.error == pytest.approx(wrong.mean())


def test_bounds_of_single_values_are_those_of_clopper_and_pearson() -> None:
    fields, stated = (frame.assign(document=[*range(100)]) for frame in sample(100, 100))
    found = xb.stats.risk_coverage(fields, stated, resamples=20_000)
    curve = found.curve.iloc[[9, 49, 99]]
    errors = (curve["risk"] * curve["accepted"]).round()
    expected = stats.beta.ppf(0.95, errors + 1, curve["accepted"] - errors)
    assert curve["upper"].tolist() == pytest.approx(expected.tolist(), abs=0.01)
    least = 1 - 0.05 ** (1 / curve["accepted"])
    assert curve["attainable"].tolist() == pytest.approx(least.tolist(), abs=0.01)


def test_dependent_fields_have_wider_bounds() -> None:
    fields, stated = frames(
        np.repeat(np.linspace(0.5, 1, 20), 30), np.repeat(np.arange(20) > 3, 30), [*range(20)] * 30
    )
    fields["document"] = stated["document"] = [*range(600)]
    by_field = xb.stats.risk_coverage(fields, stated, **FAST)
    fields["document"] = stated["document"] = np.repeat([f"d{i}" for i in range(20)], 30)
    by_document = xb.stats.risk_coverage(fields, stated, **FAST)
    assert by_field.coverage == pytest.approx(0.8, abs=0.06)
    assert by_document.threshold is None
    assert "no threshold" in repr(by_document)
    assert "no threshold has a risk of at most" in by_document._repr_html_()
    assert "accept confidence" in repr(by_field)


def test_thresholds_keep_their_promise() -> None:
    """60 samples of good and bad documents: 5 % unsafe plus three standard errors are 8."""
    rng, unsafe, found = np.random.default_rng(5), 0, 0

    def draw(documents: int, values: int) -> tuple[np.ndarray, np.ndarray]:
        quality = np.where(rng.random(documents) < 0.7, 0.99, 0.6).repeat(values)
        return quality, np.clip(quality + rng.normal(0, 0.2, len(quality)), 0, 1)

    for _ in range(60):
        quality, stated = draw(100, 4)
        sampled = frames(stated, rng.random(400) < quality, np.repeat(range(100), 4))
        risk = xb.stats.risk_coverage(*sampled, target=0.1, **FAST)
        if risk.threshold is not None:
            found += 1
            quality, stated = draw(20_000, 1)
            unsafe += (1 - quality[stated >= risk.threshold]).mean() > 0.1
    assert found > 30
    assert unsafe <= 8


# --- review plans ---------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.0, 0.1, 0.25, 0.5, 1.0])
def test_the_remaining_error_by_definition(budget: float) -> None:
    fields, stated = sample(200, 20)
    fields = fields.assign(confidence=stated["confidence"], wrong=~fields["passed"])
    first = fields.sort_values("confidence").index[: round(budget * 200)]
    left = fields.assign(wrong=fields["wrong"] & ~fields.index.isin(first))
    plan = xb.stats.review_plan(fields, stated, budget=budget, unit="field", **FAST)
    assert plan.remaining == pytest.approx(left.groupby("document")["wrong"].mean().mean())
    assert plan.error == pytest.approx(fields.groupby("document")["wrong"].mean().mean())
    by_document = fields.groupby("document")[["confidence", "wrong"]].mean()
    whole = by_document.sort_values("confidence")["wrong"].iloc[round(budget * 20) :].sum() / 20
    plan = xb.stats.review_plan(fields, stated, budget=budget, **FAST)
    assert plan.remaining == pytest.approx(whole)
    assert plan.low <= plan.remaining <= plan.high
    assert plan.apply(stated)["review"].sum() == round(budget * 20)


def test_the_curve_falls_to_zero() -> None:
    for unit in ("document", "field"):
        curve = xb.stats.review_plan(*sample(200, 20), budget=0.33, unit=unit).curve
        assert (np.diff(curve["remaining"]) <= 1e-12).all()
        assert curve["high"].iloc[-1] == curve["remaining"].iloc[-1] == 0
        assert 0.33 in curve["budget"].tolist()


def test_runs_of_a_document_are_averaged() -> None:
    fields, stated = sample(40, 8)
    twice = [pd.concat([part.assign(run=run) for run in "ab"]) for part in (fields, stated)]
    for unit in ("document", "field"):
        one = xb.stats.review_plan(fields, stated, budget=0.5, unit=unit, **FAST)
        two = xb.stats.review_plan(twice[0], twice[1], budget=0.5, unit=unit, **FAST)
        found = [(plan.documents, plan.remaining, plan.low, plan.high) for plan in (one, two)]
        assert found[1] == pytest.approx(found[0])


def test_a_plan_is_applied_to_outputs_without_gold() -> None:
    fields, stated = sample(100, 10)
    plan = xb.stats.review_plan(fields, stated, budget=0.3, unit="field", **FAST)
    new = sample(50, 5, seed=9)[1]
    chosen = plan.apply(new)
    assert chosen["rank"].tolist() == list(range(1, 51))
    assert chosen["confidence"].is_monotonic_increasing
    assert chosen["review"].sum() == 15
    pd.testing.assert_frame_equal(plan.apply(new), chosen)
    assert set(chosen["path"]) == set(new["path"])
    ties = plan.apply(new.assign(confidence=0.5))
    assert ties["path"].tolist() != new["path"].tolist()
    with pytest.raises(InputError, match="unit is 'field', but no confidence has a path"):
        plan.apply(new.drop_duplicates("document").drop(columns="path"))
    with pytest.raises(InputError, match=r"confidence is 1\.5"):
        plan.apply(new.assign(confidence=1.5))
    by_document = xb.stats.review_plan(fields, stated, budget=0.3, **FAST).apply(new)
    assert by_document["path"].isna().all()
    means = new.groupby("document")["confidence"].mean()
    assert by_document.set_index("document")["confidence"].to_dict() == pytest.approx(dict(means))


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *(("risk_coverage", {"target": v}, "target=") for v in (0, 1, -0.1, "5%", None, True, np.nan)),
    *(
        ("review_plan", {"budget": v}, "budget=.* a share")
        for v in (-0.1, 1.1, "20%", True, np.nan)
    ),
    ("review_plan", {"unit": "fields"}, "unit is 'fields'; did you mean 'field'"),
    ("calibration", {"bins": 1}, "bins=1; it is a whole number from 2 to 1000"),
    ("calibration", {"bins": 1001}, "bins=1001"),
    ("calibration", {"by": "fields"}, "by is 'fields'; did you mean 'field'"),
    ("calibration", {"by": "wrong"}, "by is 'wrong'"),
]


@pytest.mark.parametrize("function, options, message", REFUSED)
def test_bad_options(function: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        getattr(xb.stats, function)(*sample(10, 5), **options)


def test_a_plan_needs_two_documents() -> None:
    fields, stated = (frame.assign(document="d") for frame in sample(10, 5))
    with pytest.raises(InputError, match="a single document with confidences"):
        xb.stats.review_plan(fields, stated)


def test_the_interval_of_all_or_nothing_documents_is_that_of_clopper_and_pearson() -> None:
    fields, stated = frames(np.full(20, 0.5), np.arange(20) < 17, range(20))
    plan = xb.stats.review_plan(fields, stated, budget=0, resamples=20_000)
    expected = stats.binomtest(3, 20).proportion_ci(0.95, method="exact")
    assert (plan.low, plan.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_weights_are_uniform_on_the_simplex() -> None:
    drawn = np.vstack(list(weights_drawn(4, Drawing(0.95, 20_000, 1))))
    assert drawn.shape == (20_000, 5)
    assert drawn.sum(axis=1) == pytest.approx(1.0)
    assert drawn.mean(axis=0) == pytest.approx([0.2] * 5, abs=0.01)
    assert stats.kstest(drawn[:, 0], stats.beta(1, 4).cdf).pvalue > 0.001
