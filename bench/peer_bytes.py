#!/usr/bin/env python3
"""How many elements the kernels of random functions move, beside Inductor's: bench/peer_bytes.py CLEAVE [N] [SEED]

Each function is drawn: pointwise operators, broadcasts, reductions of one and several dims and of reductions, norms,
softmax, cat, pad, slice, gather and products between them; every other one with the gradients of its inputs. Both count
the bytes of distinct buffers that each kernel reads and writes (cases of the same metric: test/inspect/traffic_cases.clv),
Inductor by GraphLowering.count_bytes of what it compiles, cleave by `cleave kernels`. Prints the functions where ours are
more, worst first, and how many there are; with --show K the first K with their graphs. Nothing is run or timed.

Goal: of 2,000 functions at most Inductor's in 99%, never above 1.1 times, in sum at most 0.9 times.

Needs PyTorch and ../shared/peers/fx_to_clv.py, which writes the graphs.
"""
import argparse, json, os, pathlib, random, re, subprocess, sys, tempfile, warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT.parent / "shared/peers"
if not (PEERS / "fx_to_clv.py").exists():
    print(f"peer_bytes: left out, there is no {PEERS}/fx_to_clv.py")
    sys.exit(0)
sys.path.insert(0, str(PEERS))
warnings.filterwarnings("ignore")
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.gettempdir() + "/peer_bytes_cache")

import torch
import torch.nn.functional as F
from fx_to_clv import export
from torch._inductor import compile_fx
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V

SIZES = (8, 12, 20)


class Drawn:
    """A function of tensors as Python text: lines, and the shapes of its values."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.inputs, self.lines, self.shapes, self.results = [], [], {}, []
        self.products = 0
        for _ in range(self.rng.randint(1, 3)): self.input()
        while len(self.lines) < self.rng.randint(2, 9): self.step()
        read = {w for l in self.lines for w in re.findall(r"[xvi]\d+", l.split(" = ", 1)[1])}
        for v in [v for v in self.shapes if v not in read and v not in self.inputs]:
            # A view that is returned is an alias of what it views, which cleave copies: no figure of kernels.
            self.add(f"torch.sin({v})", self.shapes[v])
            self.results.append(list(self.shapes)[-1])
        # What nothing reads has a gradient of zeros, which PyTorch doesn't make.
        self.inputs = [x for x in self.inputs if x in read]

    def text(self):
        return f"def f({', '.join(self.inputs)}):\n" + "".join(f"    {l}\n" for l in self.lines) + f"    return {', '.join(self.results)}{',' if len(self.results) == 1 else ''}\n"

    def input(self, shape=None):
        name = f"x{len(self.inputs)}"
        if shape is None: shape = tuple(self.rng.choice(SIZES) for _ in range(self.rng.choice((1, 2, 2, 2, 3, 3, 4))))
        self.inputs.append(name)
        self.shapes[name] = tuple(shape)
        return name

    def add(self, expression, shape):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        self.shapes[name] = tuple(shape)

    def pick(self, least_rank=0):
        found = [v for v, s in self.shapes.items() if len(s) >= least_rank]
        return self.rng.choice(found[-4:] + found) if found else self.input([self.rng.choice(SIZES) for _ in range(max(2, least_rank))])

    def partner(self, v):
        """Another value that broadcasts with v, maybe a new input."""
        s, r = self.shapes[v], self.rng
        def meets(t):
            return all(a == b or a == 1 or b == 1 for a, b in zip(reversed(s), reversed(t)))
        found = [w for w, t in self.shapes.items() if w != v and meets(t)]
        if found and r.random() < 0.7: return r.choice(found)
        shape = [1 if r.random() < 0.2 else n for n in s][r.randint(0, max(0, len(s) - 1)) if r.random() < 0.4 else 0:]
        return self.input(shape or [1])

    def step(self):
        r = self.rng
        kind = r.choice(("unary", "unary", "unary", "binary", "binary", "binary", "where", "reduce", "reduce", "norm", "softmax",
                         "var", "cat", "pad", "slice", "permute", "view", "gather", "product"))
        getattr(self, kind)()

    def unary(self):
        v = self.pick()
        self.add(self.rng.choice(("torch.cos({})", "torch.tanh({})", "torch.sigmoid({})", "torch.relu({})", "torch.exp({} * 0.1)",
                                  "torch.abs({})", "F.gelu({})", "F.silu({})", "({} + 1.5)", "({} * 2.0)")).format(v), self.shapes[v])

    def binary(self):
        v = self.pick(1)
        w = self.partner(v)
        shape = torch.broadcast_shapes(self.shapes[v], self.shapes[w])
        self.add(self.rng.choice(("({} + {})", "({} * {})", "({} - {})", "torch.maximum({}, {})")).format(v, w), shape)

    def where(self):
        v = self.pick(1)
        w = self.partner(v)
        self.add(f"torch.where({v} > 0, {v}, {w})", torch.broadcast_shapes(self.shapes[v], self.shapes[w]))

    def dims(self, s):
        k = 1 if self.rng.random() < 0.6 else self.rng.randint(1, len(s))
        return sorted(self.rng.sample(range(len(s)), k))

    def reduce(self):
        v = self.pick(1)
        s = self.shapes[v]
        dims, keep = self.dims(s), self.rng.random() < 0.5
        shape = [1 if d in dims else n for d, n in enumerate(s) if keep or d not in dims]
        self.add(f"{self.rng.choice(('torch.sum', 'torch.mean', 'torch.amax'))}({v}, {dims}, {keep})", shape)

    def norm(self):
        v = self.pick(2)
        n = self.shapes[v][-1]
        self.add(f"F.layer_norm({v}, ({n},))", self.shapes[v])

    def softmax(self):
        v = self.pick(1)
        d = self.rng.randrange(len(self.shapes[v]))
        self.add(f"{self.rng.choice(('torch.softmax', 'torch.log_softmax'))}({v}, {d})", self.shapes[v])

    def var(self):
        v = self.pick(1)
        s = self.shapes[v]
        d = self.rng.randrange(len(s))
        if s[d] < 2: return
        self.add(f"torch.var({v}, {d}, keepdim=True)", [1 if k == d else n for k, n in enumerate(s)])

    def cat(self):
        v = self.pick(1)
        s = self.shapes[v]
        d = self.rng.randrange(len(s))
        same = [w for w, t in self.shapes.items() if w != v and len(t) == len(s) and all(k == d or a == b for k, (a, b) in enumerate(zip(s, t)))]
        more = min(self.rng.randint(1, 2), max(1, len(same)))
        parts = [v] + (self.rng.sample(same, more) if same else [self.input([k + 4 if j == d else k for j, k in enumerate(s)])])
        self.add(f"torch.cat([{', '.join(parts)}], {d})", [sum(self.shapes[p][d] for p in parts) if k == d else n for k, n in enumerate(s)])

    def pad(self):
        v = self.pick(1)
        s = self.shapes[v]
        a, b = self.rng.randint(0, 3), self.rng.randint(1, 3)
        self.add(f"F.pad({v}, ({a}, {b}))", [*s[:-1], s[-1] + a + b])

    def slice(self):
        v = self.pick(1)
        s = self.shapes[v]
        d = self.rng.randrange(len(s))
        if s[d] < 4: return
        length = s[d] // 2
        self.add(f"{v}.narrow({d}, {self.rng.randint(0, s[d] - length)}, {length})", [length if k == d else n for k, n in enumerate(s)])

    def permute(self):
        v = self.pick(2)
        p = list(range(len(self.shapes[v])))
        self.rng.shuffle(p)
        self.add(f"{v}.permute({p})", [self.shapes[v][k] for k in p])

    def view(self):
        v = self.pick(2)
        s = self.shapes[v]
        d = self.rng.randrange(len(s) - 1)
        self.add(f"{v}.reshape({[*s[:d], s[d] * s[d + 1], *s[d + 2:]]})", [*s[:d], s[d] * s[d + 1], *s[d + 2:]])

    def gather(self):
        v = self.pick(1)
        s = self.shapes[v]
        n = self.rng.choice(SIZES)
        index = f"i{len(self.inputs)}"
        self.inputs.append(index)
        self.add(f"{v}[{index}]", [n, *s[1:]])
        self.indices = getattr(self, "indices", {})
        self.indices[index] = (n, s[0])

    def product(self):
        if self.products == 2: return
        self.products += 1
        v = self.pick(2)
        *lead, m, k = self.shapes[v]
        n = self.rng.choice(SIZES)
        w = self.input([*lead, k, n] if lead and self.rng.random() < 0.5 else [k, n])
        self.add(f"({v} @ {w})", [*lead, m, n])

    def arguments(self, grads):
        torch.manual_seed(0)
        indices = getattr(self, "indices", {})
        return [torch.randint(0, indices[x][1], (indices[x][0],)) if x in indices else torch.randn(self.shapes[x]).requires_grad_(grads) for x in self.inputs]


class Counted:
    """A backend that counts in place of compiling."""

    def __init__(self): self.bytes = 0

    def __call__(self, gm, inputs):
        return compile_fx.compile_fx(gm, inputs, inner_compile=self.inner)

    def inner(self, gm, inputs, **kwargs):
        fake_mode = compile_fx.fake_tensor_prop(gm, inputs)
        is_backward = bool(kwargs.get("is_backward", False))
        with V.set_fake_mode(fake_mode):
            compile_fx.record_original_output_strides(gm)
            compile_fx._recursive_post_grad_passes(gm, is_inference=bool(kwargs.get("is_inference", False)))
            graph = GraphLowering(gm, example_inputs=inputs, shape_env=fake_mode.shape_env, is_backward=is_backward,
                                  is_inference=bool(kwargs.get("is_inference", False)))
            with V.set_graph_handler(graph), V.set_debug_handler(DebugContext()):
                graph.run(*inputs)
                graph._update_scheduler()
                self.bytes += graph.count_bytes()[0]
        # A gradient that is an expanded view is written by whoever takes it; cleave's are whole.
        for node in gm.graph.find_nodes(op="output") if is_backward else []:
            for result in node.args[0]:
                value = result.meta["val"] if result is not None else None
                if value is not None and any(n > 1 and step == 0 for n, step in zip(value.shape, value.stride())):
                    self.bytes += value.numel() * value.element_size()
        return compile_fx.make_boxed_func(gm.forward)


def inductor(f, args, grads):
    torch._dynamo.reset()
    counted = Counted()
    out = torch.compile(f, backend=counted, dynamic=False)(*args)
    if grads:
        wanted = [o for o in out if o.requires_grad]
        if wanted: torch.autograd.backward(wanted, [torch.ones_like(o) for o in wanted])
    return counted.bytes / 4


def ours(cleave, f, args, grads, path):
    export(f, args, path, grads=grads)
    r = subprocess.run([cleave, "kernels", path + ".clv", "--json", *(["--grad"] if grads else [])], capture_output=True, text=True)
    if r.returncode: raise RuntimeError(r.stderr.strip())
    return json.loads(r.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("cleave")
    p.add_argument("count", nargs="?", type=int, default=200)
    p.add_argument("seed", nargs="?", type=int, default=0)
    p.add_argument("--show", type=int, default=10)
    o = p.parse_args()
    rows, refused = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(o.seed, o.seed + o.count):
            drawn, grads = Drawn(seed), seed % 2 == 1
            space = {"torch": torch, "F": F}
            exec(drawn.text(), space)
            try:
                args = drawn.arguments(grads)
                theirs = inductor(space["f"], args, grads)
                got = ours(o.cleave, space["f"], drawn.arguments(grads), grads, f"{folder}/g")
            except Exception as e:  # neither counts
                refused.setdefault(str(e).split("\n")[0][:100], []).append(seed)
                continue
            if theirs == 0: continue
            rows.append((got["elements"] / theirs, seed, got["elements"], theirs, drawn.text(), got["kernels"]))
            if sys.stderr.isatty(): print(f"\r{seed - o.seed + 1}", end="", file=sys.stderr)
    rows.sort(key=lambda r: -r[0])
    more = [r for r in rows if r[0] > 1]
    for ratio, seed, mine, theirs, text, kernels in more[:o.show]:
        print(f"seed {seed}{' with gradients' if seed % 2 else ''}: {mine:g} elements, Inductor {theirs:g}: {ratio:.3f}\n{text}")
        for k in kernels: print(f"      {k['kind']:<10} %{k['name']:<20} reads {k['read']:g}, writes {k['written']:g}")
    if len(more) > o.show: print("more:", ", ".join(f"{r[1]} ({r[0]:.3f})" for r in more[o.show:]))
    for why, seeds in refused.items(): print(f"left out: {len(seeds)} ({seeds[0]}, ...): {why}")
    if not rows: return
    worst = max((r[0] for r in rows), default=0)
    share = 1 - len(more) / len(rows)
    total = sum(r[2] for r in rows) / sum(r[3] for r in rows)
    print(f"{len(rows)} functions: at most Inductor's in {100 * share:.2f}%, above 1.1 times {sum(r[0] > 1.1 for r in rows)}, worst {worst:.3f}, sum {total:.3f} times")
    sys.exit(0 if share >= 0.99 and worst <= 1.1 and total <= 0.9 else 1)


main()
