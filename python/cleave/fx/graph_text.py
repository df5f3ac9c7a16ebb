"""The text of one graph, put together.

    graph @forward(%s0: symint range(2,64), %x: input f32[s0,4], %out.0: input f32[s0,4]) {
      %y = relu(%x) : f32[s0,4]
      return %y -> %out.0
    }
"""
import torch

from cleave.fx.sizes import expression_of, symint_text


class GraphText:
    def __init__(self, name):
        self._name = name
        self._symbols = {}  # sympy symbol: the text of its placeholder
        self._placeholders, self._statements, self._results = [], [], []
        self._subgraphs = {}  # name: GraphText, those first that others refer to

    @property
    def symbols(self):
        return list(self._symbols)

    def add_symbols(self, value):
        """Declares what the sizes and strides of a tensor, or a size, are made of."""
        sizes = [value]
        if isinstance(value, torch.Tensor):
            sizes = [*value.shape, *value.stride()]
        for size in sizes:
            if isinstance(size, torch.SymInt):
                for symbol in sorted(expression_of(size).free_symbols, key=str):
                    self._symbols.setdefault(symbol, symint_text(symbol, size.node.shape_env))

    def add_subgraph(self, name, text):
        self._subgraphs.setdefault(name, text)

    def add_placeholder(self, name, type_text, role="input", wants_grad=False):
        self._placeholders.append(f"%{name}: {role} {type_text}{' grad' if wants_grad else ''}")

    def add_statement(self, text):
        self._statements.append(text)

    def add_result(self, name):
        self._results.append(f"%{name}")

    def add_update(self, name, target):
        self._results.append(f"%{name} -> %{target}")

    def add_gradient(self, name, target):
        self._results.append(f"%{name} -> grad %{target}")

    def text(self):
        head = ", ".join([*self._symbols.values(), *self._placeholders])
        body = "\n".join([*self._statements, f"  return {', '.join(self._results)}"])
        graphs = "".join(g.text() for g in self._subgraphs.values())
        return f"{graphs}graph @{self._name}({head}) {{\n{body}\n}}\n"
