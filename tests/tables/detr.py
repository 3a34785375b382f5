"""Small ONNX files with the inputs and outputs of Table Transformer, and planted answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: The logit of the planted label; with the others at 0 its score is above 0.99.
CERTAIN = 10.0
Found = tuple[int, Sequence[float]]


def save(
    path: Path,
    objects: Sequence[Found],
    labels: int,
    *,
    size: tuple[int, int] = (1, 1),
    mask: tuple[Any, int] | None = None,
    outputs: tuple[str, str] = ("logits", "pred_boxes"),
    logits: Any = None,
) -> Path:
    """Write a model that finds these objects (label, box in pixels) in any image of a size.

    Its last query finds nothing. `mask` is the shape and element type of a second input.
    """
    answers = np.zeros((1, len(objects) + 1, labels + 1), dtype=np.float32)
    boxes = np.full((1, len(objects) + 1, 4), 0.5, dtype=np.float32)
    for n, (label, (x0, y0, x1, y1)) in enumerate(objects):
        answers[0, n, label] = CERTAIN
        sides = np.array(size * 2)
        boxes[0, n] = np.array([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0]) / sides
    answers[0, -1, -1] = CERTAIN
    if logits is not None:
        answers[0] = logits
    inputs = [value("pixel_values", [1, 3, "height", "width"])]
    # the answers are constants, to which nothing of the image is added
    nodes = [
        helper.make_node("ReduceSum", ["pixel_values"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["sum", "zero"], ["nothing"]),
        helper.make_node("Add", ["answers", "nothing"], [outputs[0]]),
        helper.make_node("Add", ["boxes", "nothing"], [outputs[1]]),
    ]
    if mask is not None:
        shape, kind = mask
        inputs.append(helper.make_tensor_value_info("pixel_mask", kind, shape))
        nodes[0] = helper.make_node("ReduceSum", ["masked"], ["sum"], keepdims=0)
        nodes.insert(0, helper.make_node("Cast", ["pixel_mask"], ["masked"], to=TensorProto.FLOAT))
    constants = {"zero": np.float32(0), "answers": answers, "boxes": boxes}
    return write(path, nodes, inputs, outputs, constants)


def save_echo(path: Path) -> Path:
    """Write a model that returns the means of the colours as logits, and its shape as box."""
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["means", "one"], ["logits"]),
        helper.make_node("Shape", ["pixel_values"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["sides"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["sides", "two"], ["pred_boxes"]),
    ]
    inputs = [value("pixel_values", [1, 3, "height", "width"])]
    constants = {"one": np.array([1]), "two": np.array([0, 1])}
    return write(path, nodes, inputs, ("logits", "pred_boxes"), constants)


def value(name: str, shape: Sequence[int | str | None]) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def write(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: Sequence[str], constants: Any
) -> Path:
    given = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    results = [value(name, None) for name in outputs]
    graph = helper.make_graph(nodes, "detr", inputs, results, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path
