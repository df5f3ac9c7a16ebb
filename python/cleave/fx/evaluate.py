"""Sizes that vary as functions of the values of their symbols."""
import sympy
import torch
from torch.utils._sympy.printers import PythonPrinter

from cleave.fx.sizes import expression_of


def size_function(sizes, symbols):
    """f(*values of symbols): the sizes, a tuple of ints; without symbols, of the sizes alone."""
    texts = ", ".join(PythonPrinter().doprint(expression_of(s)) for s in sizes)
    arguments = ", ".join(str(s) for s in symbols)
    return eval(f"lambda {arguments}: ({texts}{',' if sizes else ''})", {"math": __import__("math")})


def is_fixed(sizes):
    return not any(isinstance(s, torch.SymInt) and not isinstance(s.node.expr, sympy.Integer) for s in sizes)


def fixed(sizes):
    return tuple(int(expression_of(s)) for s in sizes)
