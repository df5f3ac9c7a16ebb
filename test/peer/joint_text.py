"""A joint graph of PyTorch's as .clv: tags, random calls and sizes that vary included."""
import operator
import sympy
from aten import DTYPES, FORMATS, torch
from torch.fx.experimental.sym_node import method_to_operator

TEXT_OF = {t: name for name, t in DTYPES.items()} | {torch.complex64: "c64"}
FORMAT_TEXT = {f: name for name, f in FORMATS.items()}
# Of a tensor's memory, or of PyTorch's own generators: no attribute of cleave's.
NO_ATTRIBUTE = ("layout", "device", "pin_memory", "generator")
SEED = "fwd_seed_0"  # the placeholder of random calls; PyTorch knows it by this name


class NoText(Exception):
    """The graph has something that .clv doesn't."""


def is_size(node):
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool))


def is_random(node):
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def size_text(expr):
    """A sympy expression of sizes in cleave's grammar."""
    if expr.is_Integer or expr.is_Symbol:
        return str(expr)
    name = type(expr).__name__
    if name in ("Add", "Mul"):
        return ("+" if name == "Add" else "*").join(
            f"({size_text(a)})" if type(a).__name__ == "Add" else size_text(a) for a in expr.args).replace("+-", "-")
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return "*".join([f"({size_text(expr.base)})"] * int(expr.exp))
    calls = {"FloorDiv": "floordiv", "CleanDiv": "floordiv", "Mod": "mod", "PythonMod": "mod", "Max": "max", "Min": "min"}
    if name in calls and len(expr.args) == 2:
        return f"{calls[name]}({size_text(expr.args[0])},{size_text(expr.args[1])})"
    raise NoText(f"the size {expr}")


def dim_text(d):
    return size_text(sympy.sympify(d.node.expr)) if isinstance(d, torch.SymInt) else str(int(d))


def type_text(t):
    if t.dtype not in TEXT_OF:
        raise NoText(f"the dtype {t.dtype}")
    return f"{TEXT_OF[t.dtype]}[{','.join(dim_text(d) for d in t.shape)}]"


def attr_text(v):
    if isinstance(v, torch.fx.Node):
        return dim_text(v.meta["val"])
    if isinstance(v, torch.SymInt):
        return dim_text(v)
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (int, str)):
        return str(v) if isinstance(v, int) else f'"{v}"'
    if isinstance(v, float):
        return repr(v)
    if isinstance(v, torch.dtype):
        return TEXT_OF[v]
    if isinstance(v, torch.memory_format):
        return FORMAT_TEXT[v]
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(attr_text(x) for x in v) + "]"
    raise NoText(f"the attribute {v!r}")


def call_text(n, name, stream):
    """`op(operands; attributes)` of one call."""
    operands, attrs = [], []
    ref = lambda x: "none" if x is None else "%" + name[x]
    given = [a for a in n.args if not (isinstance(a, torch.fx.Node) and a.target == SEED)]
    for i, a in enumerate(n.target._schema.arguments):
        v = given[i] if i < len(given) else n.kwargs.get(a.name, a.default_value)
        if "Tensor" in str(a.type) and isinstance(v, torch.fx.Node) and is_size(v):
            raise NoText("a size as a tensor")
        if "Tensor" in str(a.type) and isinstance(v, (int, float)):
            attrs.append(f"{a.name}={attr_text(v)}")
        elif "Tensor" in str(a.type):
            operands.append("[" + ", ".join(map(ref, v)) + "]" if isinstance(v, (list, tuple)) else ref(v))
        elif (i < len(given) or a.name in n.kwargs) and a.name not in NO_ATTRIBUTE and v is not None:
            if isinstance(v, torch.fx.Node) or v != a.default_value:
                attrs.append(f"{a.name}={attr_text(v)}")
    while operands and operands[-1] == "none":
        operands.pop()
    if is_random(n):
        operands.append("%" + SEED)
        attrs.append(f"stream={stream}")
    return f"{n.target._schema.name.split('::')[1]}({'; '.join(x for x in (', '.join(operands), ', '.join(attrs)) if x)})"


def tag_text(n):
    """n.meta["recompute"] and n.meta["memory_budget"] as a tag."""
    policy, budget = n.meta.get("recompute"), n.meta.get("memory_budget")
    words = ["unset" if policy is None else policy.name.lower()]
    if policy is not None and "ac_graph_id" in n.meta:
        words.append(f"ac={n.meta['ac_graph_id']}")
    if budget is not None:
        words.append(f"memory_budget={budget!r}")
    return f" !recompute({', '.join(words)})" if words != ["unset"] else ""


def placeholder_text(n, roles, hints):
    v = n.meta["val"]
    if isinstance(v, torch.SymInt):
        return f"%{n.name}: symint hint({hints[n.name]})"
    if n.target == SEED:
        return f"%{SEED}: rng_state i64[2]"
    return f"%{n.name}: {roles[n]} {type_text(v)}"


def joint_text(gm, results, roles, hints):
    """The graph as .clv, and each node's name there. results: how many outputs come before the gradients, which follow
    in the order of the placeholders with a role other than tangent; roles: of placeholders of tensors; hints: of sizes,
    whose placeholders are named as their symbols."""
    name, head, lines, constants = {}, [], [], []
    outs = next(n for n in gm.graph.nodes if n.op == "output").args[0]
    grads = list(outs[results:])
    primals = [n for n in gm.graph.nodes if n.op == "placeholder" and roles.get(n) not in (None, "tangent")]
    for n in gm.graph.nodes:
        if n.op == "placeholder":
            name[n] = n.name
            wants = n in primals and primals.index(n) < len(grads) and grads[primals.index(n)] is not None
            head.append(placeholder_text(n, roles, hints) + (" grad" if wants else ""))
        elif n.op == "get_attr":
            name[n] = n.name
            constants.append(f"%{n.name}: const {type_text(getattr(gm, n.target))}")
        elif n.op == "call_function":
            if n.target is operator.getitem:
                name[n] = f"{name[n.args[0]]}_{n.args[1]}"
                continue
            if is_size(n):
                continue  # a part of the types
            if not hasattr(n.target, "_schema"):
                raise NoText(f"the call {n.target}")
            name[n] = n.name
            v = n.meta["val"]
            outs_of = list(v) if isinstance(v, (list, tuple)) else [v]
            names = [n.name] if not isinstance(v, (list, tuple)) else [f"{n.name}_{i}" for i in range(len(outs_of))]
            lines.append(f"  {', '.join('%' + x for x in names)} = {call_text(n, name, len(lines))}{tag_text(n)} : "
                         + ", ".join("none" if o is None else type_text(o) for o in outs_of))
    returns = ["%" + name[o] for o in outs[:results] if o is not None]
    returns += [f"%{name[g]} -> grad %{p.name}" for g, p in zip(grads, primals) if g is not None]
    head[len(primals):len(primals)] = constants
    symbols = [h for h in head if ": symint" in h]
    head = symbols + [h for h in head if ": symint" not in h]
    return f"graph @joint({', '.join(head)}) {{\n" + "\n".join(lines) + f"\n  return {', '.join(returns)}\n}}\n", name
