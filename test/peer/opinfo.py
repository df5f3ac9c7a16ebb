#!/usr/bin/env python3
"""PyTorch's own samples of its operators (OpInfo): how many pass, are refused, are wrong.

    opinfo.py PROGRAM [OPERATOR ...] [--samples N] [--dtypes f32,i64] [--jobs N] [--why TEXT] [--as-exported]
           [--compiled]

PROGRAM is run_exported_calls. Each sample of torch.testing._internal.common_methods_invocations.op_db is traced as
torch.export traces, written as the program of a .pt2 file, read and run with its gradients. Where a call is refused as
it stands, the program of run_decompositions() is taken, and counted apart. Operators go by their names in OpInfo, "svd"
or "linalg.svd.variant"; N samples are spread over those that there are for an operator and a dtype; 0: all.

Results and gradients are compared with PyTorch's in the same dtype, within what torch.testing.assert_close allows; of
sums of products and of gradients, whose terms are rounded each, an element may be off by that part of the largest one.
Where they differ more, PyTorch's in float64 decides: the sample passes where ours is no farther from it than PyTorch's;
of sums and gradients, where both are off by chance, than twice that.
Of random numbers the types alone are compared. LEFT names what is not compared, and why. Exit status: 0 none is wrong,
1 some are, 77 no PyTorch.
"""
import argparse, collections, fnmatch, functools, itertools, json, multiprocessing, os, random, re, select, subprocess, sys, types, unittest
import warnings, zlib

warnings.filterwarnings("ignore")
try:
    import torch
    if "expecttest" not in sys.modules:  # PyTorch's tests import it; samples don't use it
        try:
            import expecttest
        except ImportError:
            sys.modules["expecttest"] = types.ModuleType("expecttest")
            sys.modules["expecttest"].TestCase = unittest.TestCase
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch._export.serde.serialize import GraphModuleSerializer, _dataclass_to_dict
    from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
    from torch.utils import _pytree as tree
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

DTYPES = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
          "c64": torch.complex64, "c128": torch.complex128}  # as pairs of f32 and f64
TOLERANCE = {torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float16: (1e-3, 1e-5)}

# Results that are sums of products.
SUMS = ("*matmul*", "*conv*", "*linear*", "*mm", "*attention*", "*mv", "inner", "*dot", "einsum", "*norm*", "*bilinear*", "addr",
        "*cross_entropy*", "tensordot", "*pool*", "cumsum", "kron", "trapz", "trapezoid", "*var*", "*std*")


def has_ties(sample):
    x = sample.tensors[0]
    return x.numel() > 1 and (x.unique().numel() < x.numel() or bool((x != x).any()))


def has_poles(sample):
    return bool(((sample.tensors[0] < 0) & (sample.tensors[0] % 1 == 0)).any())


# What is not compared: operators, what of them ("result.K", "grad.K"), of which samples, why.
LEFT = [
    ("sort argsort topk msort kthvalue median nanmedian", "result.1", has_ties, "the order of equal elements is open"),
    ("sort argsort topk msort kthvalue median nanmedian", "grad.0", has_ties, "the order of equal elements is open"),
    ("argsort", "result.0", has_ties, "the order of equal elements is open"),
    ("nn.functional.scaled_dot_product_attention", "grad.*", lambda s: s.tensors[0].dtype in (torch.float16, torch.bfloat16),
     "its backward reads the result, rounded to 16 bits; PyTorch keeps the weights instead"),
    ("special.polygamma.special_polygamma_n_0 " + " ".join(f"polygamma.polygamma_n_{n}" for n in range(5)), "result.0", has_poles,
     "PyTorch's first derivative of digamma is some large number at its poles"),
    ("empty empty_like empty_permuted empty_strided new_empty new_empty_strided", "result.0", lambda s: True, "contents are open"),
]


def left(case, key):
    return next((why for ops, keys, holds, why in LEFT if case.operator in ops.split() and
                 fnmatch.fnmatch(key, keys) and holds(case.sample)), "")


def real(t):
    """A complex tensor as cleave has it."""
    return torch.view_as_real(t.resolve_conj().resolve_neg()) if t.is_complex() else t


def is_number(t):
    return t.is_floating_point() or t.is_complex()


def in_float64(t):
    return t.to(torch.complex128) if t.is_complex() else t.double() if t.is_floating_point() else t


def hex_of(t):
    t = real(t)
    return t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes().hex() if t.numel() else ""


def tensor_of(o):
    data, dtype = bytearray.fromhex(o["data"]), DTYPES[o["dtype"]]
    return (torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)).reshape(o["shape"])


@functools.cache
def core_decompositions():
    return dict(torch.export.default_decompositions().items())


class Refused(Exception):
    """What PyTorch's sample needs that no program can hold."""


class Sample:
    """A sample as a function of its tensors, row-major copies."""

    def __init__(self, op, sample):
        self.op, self.process = op, sample.output_process_fn_grad
        self.leaves, self.spec = tree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.places = [k for k, v in enumerate(self.leaves) if isinstance(v, torch.Tensor)]
        for k in self.places:
            t = self.leaves[k]
            if t.layout != torch.strided or t.is_nested:
                raise Refused("a sparse layout" if not t.is_nested else "a nested tensor")
            if t.dtype not in DTYPES.values():
                raise Refused(f"the dtype {str(t.dtype).removeprefix('torch.')}")
        self.tensors = [self.leaves[k].detach().clone(memory_format=torch.contiguous_format).contiguous()
                        .requires_grad_(self.leaves[k].requires_grad) for k in self.places]

    def call(self, tensors, wide=False):
        widest = lambda t: torch.complex128 if t.is_complex else torch.float64 if t.is_floating_point else t
        leaves = [widest(v) if wide and isinstance(v, torch.dtype) else v for v in self.leaves]
        for k, t in zip(self.places, tensors):
            leaves[k] = t
        x, args, kwargs = tree.tree_unflatten(leaves, self.spec)
        return [t for t in tree.tree_leaves(self.process(self.op(x, *args, **kwargs))) if isinstance(t, torch.Tensor)]

    def wanted(self, wide=False):
        """Results, cotangents (None where there is no gradient), gradients by the number of the tensor."""
        tensors = [(in_float64(t.detach()) if wide and is_number(t) else t.detach().clone()).requires_grad_(t.requires_grad)
                   for t in self.tensors]
        results = self.call(tensors, wide)
        for t in results:
            if t.layout != torch.strided or t.is_nested:
                raise Refused("a sparse layout")
            if t.dtype not in DTYPES.values():
                raise Refused(f"the dtype {str(t.dtype).removeprefix('torch.')}")
        results = [real(t) for t in results]
        generator = torch.Generator().manual_seed(7)
        cotangents = [torch.randn(t.shape, generator=generator, dtype=torch.float64) if t.is_floating_point() else None for t in results]
        narrow = [t.dtype.to_real() for t in self.tensors if is_number(t)] + [torch.float32]
        cotangents = [c.to(narrow[0]).to(t.dtype) if c is not None and t.requires_grad else None for c, t in zip(cotangents, results)]
        leaves = [k for k, t in enumerate(tensors) if t.requires_grad]
        pairs = [(t, c) for t, c in zip(results, cotangents) if c is not None]
        grads = {}
        if leaves and pairs:
            found = torch.autograd.grad([t for t, _ in pairs], [tensors[k] for k in leaves], [c for _, c in pairs], allow_unused=True)
            grads = {k: real(torch.zeros_like(tensors[k]) if g is None else g.to_dense()).detach() for k, g in zip(leaves, found)}
        return [t.detach() for t in results], cotangents, grads

    def program(self, decomposed):
        """The JSON of a .pt2 file, and its inputs by name."""
        how = {"decomposition_table": core_decompositions()} if decomposed else {"pre_dispatch": True}
        tensors = [t.detach().clone().requires_grad_(t.requires_grad) for t in self.tensors]
        try:
            module = make_fx(lambda *a: self.call(a), _error_on_data_dependent_ops=True, **how)(*tensors)
            given = list(self.tensors)
            holders = [n for n in module.graph.nodes if n.op == "placeholder"]
            for n in [n for n in module.graph.nodes if n.op == "get_attr"]:
                with module.graph.inserting_before(holders[-1].next if holders else next(iter(module.graph.nodes))):
                    holder = module.graph.placeholder(n.name + "_given")
                given.append(getattr(module, n.target).detach())
                holders.append(holder)
                n.replace_all_uses_with(holder)
                module.graph.erase_node(n)
            for n, t in zip(holders, given):
                n.meta["val"] = t
            results = next(n for n in module.graph.nodes if n.op == "output").args[0]
            signature = ExportGraphSignature(
                [InputSpec(InputKind.USER_INPUT, TensorArgument(n.name), None) for n in holders],
                [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(n.name), None) for n in results])
            graph = _dataclass_to_dict(GraphModuleSerializer(signature, []).serialize(module))
        except Exception as e:
            raise Refused(f"PyTorch can't trace it: {type(e).__name__}") from e
        text = json.dumps({"schema_version": {"major": 8, "minor": 1}, "graph_module": graph})
        return text, {n.name: t for n, t in zip(holders, given)}

    def size(self):
        return sum(t.numel() for t in self.tensors)

    def text(self):
        leaves = list(self.leaves)
        for k, t in zip(self.places, self.tensors):
            name = next(n for n, d in DTYPES.items() if d == t.dtype)
            leaves[k] = f"{name}{list(t.shape)}" + (f"={t.tolist()}" if t.numel() <= 8 else "")
        x, args, kwargs = tree.tree_unflatten(leaves, self.spec)
        return ", ".join([str(x)] + [str(a) for a in args] + [f"{k}={v}" for k, v in kwargs.items()])


class Runner:
    """The program, started again where it died."""

    def __init__(self, command):
        self.command, self.process = command, None

    def run(self, program, inputs, cotangents):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True)
        data = json.dumps({"inputs": {n: hex_of(t) for n, t in inputs.items()},
                           "cotangents": [None if c is None else hex_of(c) for c in cotangents]})
        try:
            self.process.stdin.write(f"{program}\n{data}\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], 300)
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.process.kill()
        status, self.process = self.process.wait(), None
        return {"outcome": "wrong", "why": f"the program ended with status {status}"}


def farthest(got, want, of_largest):
    """The largest error, as a part of what is allowed; of_largest: of the largest element, not of each."""
    rtol, atol = TOLERANCE[got.dtype]
    a, b = got.double(), want.double()
    same = (a == b) | (a.isnan() & b.isnan())
    scale = b.abs()
    if of_largest and b.numel():
        scale = torch.where(scale.isfinite(), scale[scale.isfinite()].max() if scale.isfinite().any() else 0.0, scale)
    part = torch.where(same, 0.0, (a - b).abs() / (atol + rtol * scale))
    return torch.where(part.isnan(), torch.inf, part).max().item() if part.numel() else 0.0


def difference(got, want, exact, of_largest):
    """Why `got` is wrong. exact: a function to PyTorch's value in float64, or None."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"is {got.dtype}{list(got.shape)}, PyTorch's {want.dtype}{list(want.shape)}"
    if not got.dtype.is_floating_point:
        bad = (got != want).nonzero()
        return f"at {bad[0].tolist()}: {got[tuple(bad[0])].item()}, PyTorch's {want[tuple(bad[0])].item()}" if len(bad) else ""
    if farthest(got, want, of_largest) <= 1:
        return ""
    wide = exact()
    if wide is not None and wide.shape == got.shape:
        wide = wide.to(got.dtype) if got.dtype != torch.float64 else wide
        if farthest(got, wide, of_largest) <= max(1, (2 if of_largest else 1) * farthest(want, wide, of_largest)):
            return ""
    reference = wide if wide is not None and wide.shape == got.shape else want
    places = itertools.product(*map(range, got.shape))
    at = max(places, key=lambda k: farthest(got[k], reference[k], False))
    text = f"at {list(at)}: {got[at].item()}, PyTorch's {want[at].item()}"
    return text + (f", in f64 {wide[at].item()}" if wide is not None and wide.shape == got.shape else "")


class Case:
    """One sample through the program: `forward` and `backward` as (outcome, why)."""

    def __init__(self, operator, dtype, sample):
        self.operator, self.dtype, self.sample = operator, dtype, sample
        self.forward = self.backward = None
        self.decomposed, self.wide = False, None

    def exact(self, part, key):
        def value():
            if self.wide is None:
                try:
                    self.wide = self.sample.wanted(True)
                except Exception:
                    self.wide = ([], [], {})
            values = self.wide[part]
            if isinstance(values, dict):
                return values.get(key)
            return values[key] if key < len(values) and values[key].is_floating_point() else None
        return value

    def run(self, runner, as_exported):
        try:
            results, cotangents, grads = self.sample.wanted()
        except Refused as e:
            self.forward = ("refused", str(e))
            return
        except Exception as e:
            self.forward = ("left", f"PyTorch doesn't run it: {type(e).__name__}")
            return
        # Taken apart where it is refused as it stands, or where its gradient is.
        self.attempt(runner, False, results, cotangents, grads)
        if not as_exported and "refused" in (self.forward[0], self.backward and self.backward[0]):
            kept = (self.forward, self.backward)
            self.attempt(runner, True, results, cotangents, grads)
            better = {"passed": 0, "random": 0, "wrong": 1, "refused": 2, None: 3}
            rank = lambda pair: tuple(better.get(p[0] if p else None, 0) for p in pair)
            if rank((self.forward, self.backward)) < rank(kept):
                self.decomposed = True
            else:
                self.forward, self.backward = kept

    def attempt(self, runner, decomposed, results, cotangents, grads):
        self.forward, self.backward = None, None
        try:
            program, inputs = self.sample.program(decomposed)
        except Refused as e:
            self.forward = ("refused", str(e))
            return
        got = runner.run(program, inputs, cotangents)
        if got["outcome"] != "ran":
            self.forward = (got["outcome"], got["why"])
            return
        self.forward = self.compare_results(got, results)
        if not grads or self.forward[0] != "passed":
            return
        if got["gradient"]:
            self.backward = ("refused", "gradient: " + got["gradient"])
        else:
            self.backward = self.compare_gradients(got, inputs, cotangents, grads)

    def compare_results(self, got, results):
        if len(got["results"]) != len(results):
            return ("wrong", f"{len(got['results'])} results, PyTorch has {len(results)}")
        for k, (have, want) in enumerate(zip(map(tensor_of, got["results"]), results)):
            if left(self, f"result.{k}"):
                continue
            if got["random"]:
                if have.dtype != want.dtype or have.shape != want.shape:
                    return ("wrong", f"result {k} {difference(have, want, None, False)}")
                continue
            sums = any(fnmatch.fnmatch(self.operator, s) for s in SUMS)
            if why := difference(have, want, self.exact(0, k), sums):
                return ("wrong", f"result {k} {why}")
        return ("random", "") if got["random"] else ("passed", "")

    def compare_gradients(self, got, inputs, cotangents, grads):
        for k, c in enumerate(cotangents):
            if c is not None and c.numel() and k not in got["tangents"] and any(g.any() for g in grads.values()):
                return ("wrong", f"result {k} has a gradient in PyTorch")
        for (k, want), name in ((i, n) for i, n in zip(grads.items(), [list(inputs)[k] for k in grads])):
            if left(self, f"grad.{k}"):
                continue
            if why := difference(tensor_of(got["grads"][name]), want, self.exact(2, k), True):
                return ("wrong", f"gradient of tensor {k} {why}")
        return ("passed", "")


def name_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def chosen(samples, count):
    samples = list(samples)
    if not count or len(samples) <= count:
        return samples
    return [samples[round(k * (len(samples) - 1) / max(1, count - 1))] for k in range(count)]


def run_operator(task):
    """All cases of one operator: (name, [(dtype, forward, backward, decomposed, size, text)], left out)."""
    number, options = task
    op, runner, out, beyond = op_db[number], RUNNER[0], [], 0
    torch.set_num_threads(1)
    dtypes = [d for d in options["dtypes"] if DTYPES[d] in op.supported_dtypes("cpu")]
    for name in dtypes[:1] if options["first"] else dtypes:
        dtype = DTYPES[name]
        seed = zlib.crc32(f"{name_of(op)} {name}".encode())
        torch.manual_seed(seed), random.seed(seed)
        with_gradient = (dtype.is_floating_point or dtype.is_complex) and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=with_gradient))
        except Exception as e:
            out.append((name, ("left", f"PyTorch makes no sample: {type(e).__name__}"), None, False, 0, ""))
            continue
        picked = chosen(samples, options["samples"])
        beyond += len(samples) - len(picked)
        for s in picked:
            try:
                sample = Sample(op, s)
            except Refused as e:
                out.append((name, ("refused", str(e)), None, False, 0, ""))
                continue
            case = Case(name_of(op), name, sample)
            case.run(runner, options["as_exported"])
            text = sample.text()[:600] if "wrong" in (case.forward[0], case.backward and case.backward[0]) else ""
            out.append((name, case.forward, case.backward, case.decomposed, sample.size(), text))
    return name_of(op), out, beyond


RUNNER = []


def start(command):
    RUNNER.append(Runner(command))


def reason(why):
    """A refusal without the names and numbers of the sample."""
    why = why.splitlines()[0] if why else ""
    why = re.sub(r"^.*?(operator |PyTorch|the dtype|a sparse|gradient: )", r"\1", why) if "operator " in why else why
    return re.sub(r"%[\w.]+", "%", re.sub(r"\[[^\]]*\]", "[]", re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "N", why)))[:160]


def table(rows, dtypes):
    """How many of each outcome, by dtype."""
    columns = ("forward passed", "forward random", "forward refused", "forward wrong", "backward passed", "backward refused", "backward wrong")
    print(f"{'':6}" + "".join(f"{c:>17}" for c in columns))
    for d in [*dtypes, "all"]:
        counts = collections.Counter()
        for _, dtype, forward, backward, *_ in rows:
            if d in ("all", dtype):
                counts[f"forward {forward[0]}"] += 1
                counts[f"backward {backward[0] if backward else 'none'}"] += 1
        print(f"{d:6}" + "".join(f"{counts[c]:17}" for c in columns))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("operators", nargs="*")
    p.add_argument("--samples", type=int, default=0)
    p.add_argument("--dtypes", default=",".join(DTYPES))
    p.add_argument("--first", action="store_true", help="of each operator the first of --dtypes that it has")
    p.add_argument("--as-exported", action="store_true", help="without run_decompositions()")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--why", help="print the cases whose reason holds this")
    p.add_argument("--compiled", action="store_true", help="compile kernels, in the place of bytecode")
    p.add_argument("--json", help="write all rows there")
    a = p.parse_intermixed_args()
    named = lambda op: not a.operators or op.name in a.operators or name_of(op) in a.operators
    options = {"samples": a.samples, "dtypes": a.dtypes.split(","), "first": a.first, "as_exported": a.as_exported}
    tasks = [(k, options) for k, op in enumerate(op_db) if named(op)]
    command = [a.program] + ([] if a.compiled else ["--interpreted"])
    rows, beyond, operators, complex_dtypes = [], 0, 0, collections.Counter()
    for k, _ in tasks:
        complex_dtypes.update(str(d).removeprefix("torch.") for d in op_db[k].supported_dtypes("cpu") if d not in DTYPES.values())
    with multiprocessing.get_context("fork").Pool(a.jobs, start, (command,)) as pool:
        for name, cases, more in pool.imap(run_operator, tasks):
            operators += 1
            beyond += more
            rows += [(name, *case) for case in cases]
    if a.json:
        with open(a.json, "w") as f:
            json.dump(rows, f)
    report(rows, beyond, operators, complex_dtypes, options["dtypes"], a.why)
    return 1 if any("wrong" in (f[0], b and b[0]) for _, _, f, b, *_ in rows) else 0


def report(rows, beyond, operators, complex_dtypes, dtypes, wanted):
    kept = [r for r in rows if r[2][0] != "left"]
    print(f"operators {operators}, samples {len(kept)}, of these {sum(r[4] for r in kept)} by run_decompositions(); "
          f"{len(rows) - len(kept)} that PyTorch doesn't make or run, {beyond} beyond --samples")
    table(kept, dtypes)
    print("dtypes refused by name (operators that have them): " +
          ", ".join(f"{d} {n}" for d, n in sorted(complex_dtypes.items())))
    whole = collections.defaultdict(set)
    for name, _, forward, backward, *_ in kept:
        whole[name].update({forward[0]} | ({backward[0]} if backward else set()))
    clean = sum(s <= {"passed", "random"} for s in whole.values())
    print(f"operators without a refusal {clean}, with some {sum('refused' in s and len(s) > 1 for s in whole.values())}, "
          f"refused {sum(s == {'refused'} for s in whole.values())}")
    refusals, of = collections.Counter(), collections.defaultdict(set)
    for name, _, forward, backward, *_ in kept:
        for outcome in (forward, backward):
            if outcome and outcome[0] == "refused":
                refusals[reason(outcome[1])] += 1
                of[reason(outcome[1])].add(name)
    print("\nrefused because of (samples, operators):")
    for why, count in refusals.most_common():
        print(f"  {count:5} {len(of[why]):4}  {why}   [{', '.join(sorted(of[why])[:4])}]")
    smallest = {}
    for name, dtype, forward, backward, decomposed, size, text in kept:
        for what, outcome in (("forward", forward), ("backward", backward)):
            if outcome and outcome[0] == "wrong":
                key = (name, what, reason(re.sub(r"at \[.*", "", outcome[1])))
                if key not in smallest or size < smallest[key][0]:
                    smallest[key] = (size, dtype, outcome[1][:400], text)
    for (name, what, _), (_, dtype, why, text) in sorted(smallest.items()):
        print(f"wrong: {name} {dtype} {what}: {why}\n       {text}")
    for name, dtype, forward, backward, *_ in kept if wanted else []:
        for outcome in (forward, backward):
            if outcome and outcome[0] != "passed" and wanted in outcome[1]:
                print(f"{outcome[0]}: {name} {dtype}: {outcome[1][:600]}")


if __name__ == "__main__":
    sys.exit(main())
