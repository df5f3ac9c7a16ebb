"""Sizes that vary: PyTorch's symbolic integers as expressions of cleave's symints.

    s0*4 + 1  ►  "s0*4+1"        FloorDiv(s0, 2)  ►  "floordiv(s0,2)"
"""
import sympy
import torch

from cleave.fx.no_text import NoText

CALLS = {"FloorDiv": "floordiv", "CleanDiv": "floordiv", "Mod": "mod", "PythonMod": "mod", "Max": "max", "Min": "min"}


def is_size(node):
    """Whether an FX node is a number, not a tensor."""
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


def enters_as_tensor(node):
    """Whether a program takes a node's value: tensors, and floating numbers that are known at run time, as f64[]."""
    return not is_size(node) or isinstance(node.meta["val"], torch.SymFloat)


def expression_of(size):
    """The sympy expression of an int or SymInt."""
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(int(size))


def expression_text(e):
    if e.is_Integer or e.is_Symbol:
        return str(e)
    name = type(e).__name__
    if e.is_Add:
        return "+".join(_factor(a) for a in e.args).replace("+-", "-")
    if e.is_Mul:
        return "*".join(_factor(a) for a in e.args)
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        return "*".join([_factor(e.base)] * int(e.exp))
    if name in CALLS and len(e.args) == 2:
        return f"{CALLS[name]}({expression_text(e.args[0])},{expression_text(e.args[1])})"
    raise NoText(f"the size {e}")


def _factor(e):
    return f"({expression_text(e)})" if e.is_Add else expression_text(e)


def size_text(size):
    return expression_text(size.node.expr) if isinstance(size, torch.SymInt) else str(int(size))


def symint_text(symbol, shape_env):
    """The placeholder of a symbol, with the range that PyTorch guards."""
    bounds = shape_env.var_to_range.get(symbol)
    least, most = 0, 2**47
    if bounds is not None and isinstance(bounds.lower, sympy.Integer):
        least = max(least, int(bounds.lower))
    if bounds is not None and isinstance(bounds.upper, sympy.Integer):
        most = min(most, int(bounds.upper))
    return f"%{symbol}: symint range({least},{most})"
