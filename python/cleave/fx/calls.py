"""Calls of ATen's operators.

A call is its schema's name without namespace and overload. Tensor, Tensor? and Tensor[] arguments stand in the schema's
order before `;`, all others after it by name, those equal to the default left out; a number where the schema has a Tensor is
an attribute too: add(%x; other=1.0).
"""
import operator

import torch

from cleave.fx.attributes import attribute_text
from cleave.fx.no_text import NoText
from cleave.fx.random import DRAWN, LIKE, RandomCall, draw_state, is_random
from cleave.fx.sizes import enters_as_tensor, is_size
from cleave.fx.types import is_row_major, type_text

# In a node's meta: the name that it has in the text, where that isn't its own.
NAME = "cleave_name"
# The types of results by name, where cleave's aren't PyTorch's.
INFERRED = "cleave_inferred"
# Of a node that stands for a graph: the name that it has in the text.
GRAPH = "cleave_graph"
# Where a tensor's memory is, which cleave decides.
PLACES = ("layout", "device", "pin_memory")
# What factors the transpose of a matrix in row-major memory, as cleave does, and else the matrix: the first result that tells.
BY_TRANSPOSE = {"aten::_linalg_det": 1, "aten::_linalg_slogdet": 2}
# What acts on the elements in memory, which is what their operand's strides say in PyTorch and row-major in cleave.
OF_MEMORY = {"aten::as_strided", "aten::view.dtype", "aten::as_strided_scatter", "aten::set_"}


# Branches and loops: the attributes that their first arguments are, functions as graphs and a branch's predicate aside.
CONTROL = {torch.ops.higher_order.cond: ("then", "otherwise"), torch.ops.higher_order.while_loop: ("condition", "body")}


def is_subgraph(node):
    """Whether a node stands for a function of a branch, a loop or another higher-order operator."""
    return node.op == "get_attr" and isinstance(getattr(node.graph.owning_module, node.target, None), torch.fx.GraphModule)


def graph_name(node):
    return node.meta.get(GRAPH, node.target)


def operands_of(node):
    """The nodes that a call reads the values of."""
    return [m for m in node.all_input_nodes if not is_subgraph(m)]


def subgraph_operands(node):
    """What the functions of a branch or a loop are given: nodes, or numbers."""
    lists = node.args[3:] if node.target is torch.ops.higher_order.cond else node.args[2:]
    return [v for given in lists for v in given]


def is_call(node):
    """Whether a node computes tensors by an operator."""
    no_calls = (operator.getitem, draw_state)
    return node.op == "call_function" and node.target not in no_calls and not is_size(node)


def result_names(node):
    """The names of a call's results: `%n`, or `%n_0`, `%n_1` of one that returns several."""
    v = node.meta.get("val")
    return [f"{node.name}_{k}" for k in range(len(v))] if isinstance(v, (list, tuple)) else [node.name]


def name_of(node):
    """The name of the tensor that a node stands for."""
    if node.target is operator.getitem and node.op == "call_function":
        return f"{node.args[0].name}_{node.args[1]}"
    return node.meta.get(NAME, node.name)


def check_sayable(node):
    """Raises NoText where a call has no text, whatever its operands."""
    target = node.target
    if isinstance(target, RandomCall):
        return
    if not isinstance(target, torch._ops.OpOverload):
        raise NoText(f"{getattr(target, '__name__', target)} is no operator")
    if target._schema.is_mutable:
        raise NoText("it writes its operands")
    if is_random(node):
        raise NoText("it draws random numbers, PyTorch's")
    if str(target._schema.name) + ("." + target._overloadname if target._overloadname != "default" else "") in OF_MEMORY:
        of = node.args[0].meta["val"]
        if not is_row_major(of) or of.storage_offset() != 0:
            raise NoText("it reads memory that isn't row-major")
    factors = BY_TRANSPOSE.get(str(target._schema.name))
    if factors and not is_row_major(node.args[0].meta["val"]) and any(m.args[1] >= factors for m in node.users):
        raise NoText("it factors a matrix that isn't row-major")


def call_text(node):
    """`op(operands; attributes)`."""
    if node.target in CONTROL:
        return _control_text(node)
    check_sayable(node)
    schema, args = node.target._schema, node.args
    name, has_state = schema.name.split("::")[1], isinstance(node.target, RandomCall)
    if has_state:
        name, args = DRAWN[schema.name], args[1:]
    operands, attributes = [], []
    for k, a in enumerate(schema.arguments):
        given = k < len(args) or a.name in node.kwargs
        v = args[k] if k < len(args) else node.kwargs.get(a.name, a.default_value)
        takes_tensor = "Tensor" in str(a.type)
        if takes_tensor and not _is_number(v):
            operands.append("[" + ", ".join(map(_operand, v)) + "]" if isinstance(v, (list, tuple)) else _operand(v))
        elif takes_tensor or (given and a.name not in PLACES and v is not None and
                              (isinstance(v, torch.fx.Node) or v != a.default_value)):
            attributes.append(f"{a.name}={attribute_text(v)}")
        elif a.name == "device" and v is not None and torch.device(v).type != "cpu":
            raise NoText(f"the device {v}")
    while operands and operands[-1] == "none" and not has_state:  # the state comes last
        operands.pop()
    if schema.name in LIKE:
        operands, attributes = [], _sizes_and_dtype(node.meta["val"])
    if has_state:
        operands.append(_operand(node.args[0]))
        attributes.append(f"stream={node.target.stream}")
    inner = "; ".join(x for x in (", ".join(operands), ", ".join(attributes)) if x)
    return f"{name}({inner})"


def _control_text(node):
    """`cond(%p, [%x]; then=@f, otherwise=@g)`, `while_loop([%x]; condition=@f, body=@g)`."""
    graphs = ", ".join(f"{name}=@{graph_name(m)}" for name, m in zip(CONTROL[node.target], filter(_is_graph, node.args)))
    tensors = "[" + ", ".join(_operand(v) for v in subgraph_operands(node) if not _is_number(v)) + "]"
    if node.target is torch.ops.higher_order.while_loop:
        return f"while_loop({tensors}; {graphs})"
    predicate = node.args[0]
    if _is_number(predicate) or predicate.meta["val"].dim() > 0:
        raise NoText("a branch on what is no tensor without dims")
    return f"cond({_operand(predicate)}, {tensors}; {graphs})"


def _is_graph(v):
    return isinstance(v, torch.fx.Node) and is_subgraph(v)


def _sizes_and_dtype(t):
    return [f"size={attribute_text(list(t.shape))}", f"dtype={attribute_text(t.dtype)}"]


def _is_number(v):
    """Known when a program is compiled."""
    return isinstance(v, (bool, int, float, torch.SymInt)) or isinstance(v, torch.fx.Node) and not enters_as_tensor(v)


def _operand(v):
    if v is None:
        return "none"
    if not isinstance(v, torch.fx.Node):
        raise NoText(f"an operand of type {type(v).__name__}")
    return "%" + name_of(v)


def untyped_statement(node, tag="", names=None):
    """`%a, %b = op(...) !recompute(...)`."""
    results = ", ".join("%" + n for n in names or result_names(node))
    return f"  {results} = {call_text(node)}{tag}"


def statement_text(node, tag=""):
    """`%a, %b = op(...) : types`, and conversions of what cleave gives in another dtype than PyTorch."""
    inferred = node.meta.get(INFERRED, {})
    names, types, conversions = [], [], []
    for name, v in zip(result_names(node), values_of(node)):
        wanted = type_text(v)
        types.append(inferred.get(name, wanted) if v is not None else wanted)
        names.append(name)
        if types[-1] != wanted:
            names[-1] = f"{name}.raw"
            conversions.append(f"  %{name} = _to_copy(%{names[-1]}; dtype={wanted.partition('[')[0]}) : {wanted}")
    return "\n".join([f"{untyped_statement(node, tag, names)} : {', '.join(types)}", *conversions])


def values_of(node):
    """What PyTorch says of the results."""
    v = node.meta["val"]
    return list(v) if isinstance(v, (list, tuple)) else [v]
