"""Whether cleave covers a call: asked of the core, by the text of a graph with that call alone."""
import functools

from cleave import _core
from cleave.fx.calls import INFERRED, name_of, operands_of, result_names, untyped_statement, values_of
from cleave.fx.graph_text import GraphText
from cleave.fx.no_text import NoText
from cleave.fx.sizes import enters_as_tensor
from cleave.fx.subgraphs import add_subgraphs
from cleave.fx.types import type_text


@functools.lru_cache(maxsize=None)
def operator_names():
    return frozenset(_core.operators())


def reason_outside(node):
    """Why cleave doesn't cover a call; None: it does. Notes where cleave's results have other dtypes than PyTorch's."""
    if "val" not in node.meta:
        return "it has no result"
    try:
        reason, _ = _asked(_text_of_one(node, _typed_statement(node)))
        if reason is None or not reason.startswith("P17"):  # P17: another type is given than is inferred
            return reason
        reason_untyped, types = _asked(_text_of_one(node, untyped_statement(node)))
    except NoText as e:
        return str(e)
    names = [name for name, v in zip(result_names(node), values_of(node)) if v is not None]
    if reason_untyped is not None or not all(map(_differ_in_rounding, types[:len(names)], types[len(names):])):
        return reason_untyped or reason
    node.meta[INFERRED] = dict(zip(names, types))
    return None


def _differ_in_rounding(a, b):
    """Of types: whether they are the same, or floating ones of one shape."""
    floating = {"f64", "f32", "bf16", "f16"}
    (dtype_a, _, shape_a), (dtype_b, _, shape_b) = a.partition("["), b.partition("[")
    return a == b or dtype_a in floating and dtype_b in floating and shape_a == shape_b


def _typed_statement(node):
    return f"{untyped_statement(node)} : {', '.join(map(type_text, values_of(node)))}"


def _text_of_one(node, statement):
    """The graph of one call, which returns its results and then what PyTorch says that they are."""
    text = GraphText("one")
    operands = operands_of(node)
    for v in [*(n.meta["val"] for n in operands), *values_of(node)]:
        text.add_symbols(v)
    add_subgraphs(text, node, reason_outside)
    for n in operands:
        if enters_as_tensor(n):
            text.add_placeholder(name_of(n), type_text(n.meta["val"]))
    text.add_statement(statement)
    wanted = [(name, v) for name, v in zip(result_names(node), values_of(node)) if v is not None]
    for name, v in wanted:
        text.add_result(name)
    for name, v in wanted:
        text.add_placeholder(f"{name}.wanted", type_text(v))
        text.add_result(f"{name}.wanted")
    return text.text()


@functools.lru_cache(maxsize=4096)
def _asked(text):
    """(reason, None), or (None, types of the results)."""
    try:
        graph = _core.Graph(text, whole_complex=True)
        outside = graph.uncovered()
    except _core.Error as e:
        return str(e).splitlines()[0].split(": ", 1)[-1], None
    return (outside[0][2], None) if outside else (None, tuple(r.type for r in graph.results))
