"""The columns of the frame that `sensitivity` returns."""

from extractbench_nb._frames import Column, FrameSpec

__all__ = ["SENSITIVITY_COLUMNS"]

SENSITIVITY_COLUMNS = FrameSpec(
    "sensitivity",
    "one row a metric or profile, corruption and rate",
    (
        Column("metric", "string", "metric or preset; missing: as the schema declares", "", True),
        Column("profile", "string", "rules of the evaluation"),
        Column("measure", "string", "what the score is: an entry of the summary, or field mean"),
        Column("corruption", "string", "what was done"),
        Column("meaning", "string", "what becomes of the meaning", "kept, unclear, changed"),
        Column("rate", "float64", "probability of each place; of a value: share", "[0, 1]"),
        Column("n", "int64", "documents or values in which there is something to corrupt"),
        Column("changed", "Float64", "places that were changed, mean over n", "0 and up", True),
        Column("score", "Float64", "mean over n; missing where nothing was scored", "[0, 1]", True),
        Column("low", "Float64", "lower end of the interval over documents", "[0, 1]", True),
        Column("high", "Float64", "upper end", "[0, 1]", True),
        Column("interval", "string", "how it was made", "BCa, percentile, all equal, none"),
        Column("lowest", "Float64", "lowest score of a document or value", "[0, 1]", True),
        Column("pass_rate", "Float64", "share that passes, mean over n", "[0, 1]", True),
        Column("errors", "int64", "scores without a verdict, all repeats", "0 and up"),
        Column("document", "string", "an example, of the lowest score: where", "", True),
        Column("path", "string", "the example: path in gold", "", True),
        Column("gold", "object", "the example: what stood there", "", True),
        Column("corrupted", "object", "the example: what became of it", "", True),
    ),
)
