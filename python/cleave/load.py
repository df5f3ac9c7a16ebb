"""Models from files as functions of tensors.

    f = cleave.load("model.pt2")             # of torch.export.save; also .onnx, .clv
    y = f(x)                                 # a tensor of x's library; a tuple where there are several results

Weights are the model's own; those of NAME.clv are read from NAME.safetensors, and where there is none all inputs are the
caller's. Dropout and other random operators draw from `seed`.
"""
from __future__ import annotations

from pathlib import Path

from cleave import _core
from cleave.model import STATE, Model


def load(path: str | Path, *, options: str = "", seed: int = 0) -> Model:
    """The model of a .pt2, .onnx or .clv file. options: the text of CompileOptions, "threads=4".

    Raises UserError for a file that is damaged or of another kind, Unsupported for operators that aren't covered.
    """
    suffix = Path(path).suffix
    if suffix == ".pt2":
        model = _core.load_exported(str(path))
    elif suffix == ".onnx":
        model = _core.load_onnx(str(path))
    elif suffix == ".clv":
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as e:
            raise _core.UserError(f"{path}: {e}") from None
        beside = Path(path).with_suffix(".safetensors")
        graph, weights = _core.Graph(text), _core.load_tensors(str(beside)) if beside.exists() else {}
        roles = {v.name: v.role for v in graph.inputs}
        return Model(graph, {k: t for k, t in weights.items() if roles.get(k) in STATE}, options, seed)
    else:
        raise _core.UserError(f"{path}: the file's kind is {suffix or 'unknown'}, expected .pt2, .onnx or .clv")
    return Model(model.graph, model.weights(), options, seed)
