"""What torch.export assumed of the sizes that vary: a program is right for those sizes alone that fulfil it."""
import sympy


class Guards:
    """shape_env: of the exported program's values; None where no size varies."""

    def __init__(self, shape_env):
        self._ranges, self._conditions = {}, []
        if shape_env is not None:
            self._ranges = {str(s): r for s, r in shape_env.var_to_range.items()}
            self._conditions = [shape_env.replace(g.expr) for g in shape_env.guards]

    def hold(self, sizes):
        """sizes: {symbol's name: value}, of all symbols of the program."""
        for name, value in sizes.items():
            bounds = self._ranges.get(name)
            if bounds is not None and not bounds.lower <= value <= bounds.upper:
                return False
        return all(_is_true(c, sizes) for c in self._conditions)


def _is_true(condition, sizes):
    values = {s: sympy.Integer(sizes[str(s)]) for s in condition.free_symbols if str(s) in sizes}
    return condition.xreplace(values) == True  # noqa: E712, a condition of sympy


def guards_of(nodes):
    """Of the nodes of a graph."""
    for n in nodes:
        v = n.meta.get("val")
        mode = getattr(v, "fake_mode", None)
        if mode is not None:
            return Guards(mode.shape_env)
    return Guards(None)
