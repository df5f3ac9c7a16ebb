#!/usr/bin/env python3
"""Every sample of every operator against PyTorch: results and gradients, by the oracle and compiled.

    python3 test/peer/samples.py WRITE_SAMPLES [OPERATOR ...]

WRITE_SAMPLES is the program of that name (build/release/bin/write_samples). Prints a table: samples, results and
gradients compared, the largest difference as a part of what torch.testing.assert_close allows (its defaults for the
dtype). Integers, booleans and the places of NaN and infinity are exact. Where PyTorch's own rounding in 16 or 32 bits is
what differs, its result in float64 decides, within the same tolerance of the sample's dtype (counted apart). What LEFT
names is not compared, and counted. Exit status: 0 all agree, 1 not, 77 no PyTorch 2.13.
"""
import concurrent.futures, fnmatch, json, math, multiprocessing, os, subprocess, sys, tempfile
from aten import NoOverload, call, divides_in_cumprod, read_safetensors, torch, value_of

# Operators whose values ATen leaves open or fixes otherwise, each with the reason.
OWN = {
    "adam_step": "cleave's own", "int_mm_scaled": "cleave's own", "uint4x2_mm": "cleave's own", "packed_addmm": "cleave's own", "convolution_pointwise": "cleave's own", "convolution_channels_last": "cleave's own", "convolution_channels_last_backward": "cleave's own", "opaque": "cleave's own", "rng_next": "cleave's own", "sym_size": "a number in ATen",
    "sym_numel": "a number in ATen", "is_same_size": "a number in ATen", "rand": "random", "randn": "random", "bernoulli": "random", "native_dropout": "random",
    "grouped_mm_fallback": "of transformers", "grouped_mm_fallback_backward": "of transformers",
    "empty": "contents are open", "empty_like": "contents are open", "empty_strided": "contents are open",
    "empty_permuted": "contents are open",
}
def is_narrow(t):
    return isinstance(t, torch.Tensor) and t.dtype in (torch.bfloat16, torch.float16)


def has_ties(t):
    return t.nelement() > 1 and t.unique(return_counts=True)[1].max().item() > 1 or bool((t != t).any())


def has_poles(t):
    return bool((t.isinf() | ((t < 0) & (t % 1 == 0))).any())


# Values of single samples that PyTorch 2.13 has otherwise: operators, key (result.POSITION or grad.NAME), the samples
# by their arguments, why ours stand.
LEFT = [
    ("sort topk", "result.1", lambda a: not a.get("stable") and has_ties(a["self"]), "the order of equal elements is open"),
    ("sort topk", "grad.self", lambda a: not a.get("stable") and has_ties(a["self"]), "the order of equal elements is open"),
    ("hardtanh", "grad.self", lambda a: a["self"].isnan().any(), "its slope at NaN is 0 in whole vectors, 1 in the rest"),
    ("hardtanh_backward", "*", lambda a: a["self"].isnan().any(), "its slope at NaN is 0 in whole vectors, 1 in the rest"),
    ("elu_backward", "*", lambda a: a["self_or_result"].isnan().any(), "its slope at NaN is 1 in AVX-512 and in what fills no vector, NaN elsewhere"),
    ("elu", "grad.self", lambda a: a["self"].isnan().any(), "its slope at NaN is 1 in AVX-512 and in what fills no vector, NaN elsewhere"),
    ("cumprod", "grad.self", lambda a: divides_in_cumprod(a["self"], a["dim"]),
     "divides by the elements and starts from products that underflow; the product of the others is a number"),
    ("cumprod_backward", "*", lambda a: divides_in_cumprod(a["input"], a["dim"]),
     "divides by the elements and starts from products that underflow; the product of the others is a number"),
    ("cumprod_backward", "grad.input", lambda a: a["input"].numel() > 1 and a["input"].abs().max() > 1e20,
     "its products overflow; the gradient is a number"),
    ("rsqrt", "grad.self", lambda a: is_narrow(a["self"]), "the result is rounded before its third power is taken"),
    ("div", "grad.other", lambda a: is_narrow(a["self"]) and a["other"].dtype == torch.float32, "reads the result, rounded to 16 bits"),
    ("pow", "grad.exponent", lambda a: is_narrow(a["self"]) and a["exponent"].dtype == torch.float32, "reads the result, rounded to 16 bits"),
    ("_softmax", "grad.self", lambda a: is_narrow(a["self"]), "reads the result; PyTorch rounds the exponentials to 16 bits too"),
    ("_scaled_dot_product_flash_attention_for_cpu", "grad.*", lambda a: is_narrow(a["query"]),
     "reads the result; PyTorch rounds the weights to 16 bits too"),
    ("scaled_dot_product_attention", "grad.*", lambda a: is_narrow(a["query"]),
     "its backward reads the result, rounded to 16 bits; PyTorch keeps the weights instead"),
    ("native_layer_norm", "grad.weight", lambda a: is_narrow(a["weight"]), "adds in 16 bits; statistics are rounded to 16 bits too"),
    ("_native_batch_norm_legit", "grad.input", lambda a: is_narrow(a["input"]),
     "reads the saved rstd: PyTorch rounds the variance first, so that its rstd may be a unit of 16 bits off"),
    ("convolution_backward", "result.2", lambda a: a["input"].nelement() == 0,
     "zeros where the input is empty; the bias is added all the same"),
    ("convolution", "result.0", lambda a: a["input"].shape[1] == 0,
     "a sum of no channels is the bias; PyTorch's result has no channels then, whatever the weight's"),
    ("native_group_norm", "grad.input", lambda a: a["input"].numel() > 0 and a["input"].min() > 10,
     "a large mean, rounded to 32 bits, moves it by more than the tolerance"),
    ("native_group_norm", "grad.*", lambda a: is_narrow(a["input"]) and not any(t is not None and t.dtype == torch.float32 for t in (a.get("weight"), a.get("bias"))),
     "statistics are rounded to 16 bits too, and so is each step of PyTorch's gradient through them"),
    ("native_group_norm", "grad.weight", lambda a: a["input"].nelement() == 0, "NaN of no elements: a sum of none times rstd"),
    ("scatter_reduce", "grad.self", lambda a: a["reduce"] == "prod" and a["self"].isnan().any(),
     "divides the product by a NaN; the product of the others is a number"),
    ("_softmax_backward_data", "*", lambda a: a["input_dtype"] != a["grad_output"].dtype,
     "another input_dtype is CUDA's; on the CPU it is not looked at"),
    ("_log_softmax_backward_data", "*", lambda a: a["input_dtype"] != a["grad_output"].dtype,
     "another input_dtype is CUDA's; on the CPU it is not looked at"),
    ("i0 special_i1", "*", lambda a: a["self"].isinf().any(), "is infinite there; PyTorch's a product of infinity and 0"),
    ("special_i1 special_i1e", "grad.self", lambda a: a["self"].isnan().any(), "its slope at NaN is 1/2"),
    ("special_log_ndtr", "grad.self", lambda a: a["self"].isinf().any(), "its erfcx of infinity is NaN"),
    ("special_ndtri", "grad.self", lambda a: ((a["self"] > 0) & (a["self"] < 1e-20)).any(), "the square of a rounded result in an exponent"),
    ("polygamma", "*", lambda a: has_poles(a["self"]), "some large number at poles, NaN at infinity"),
    ("digamma", "grad.self", lambda a: has_poles(a["self"]), "some large number at poles, NaN at infinity"),
    ("histc", "*", lambda a: a["self"].numel() > 0 and a["self"].abs().max() > 1e38 and a["self"].isfinite().all(),
     "the width of the range overflows"),
    ("embedding_dense_backward", "grad.*", lambda a: a["scale_grad_by_freq"],
     "its own derivative there leaves the scale out, so that it is not the transpose"),
]


# Results that have a gradient here and none in PyTorch: operator, number of the result, why.
MORE = {
    ("_scaled_dot_product_flash_attention_for_cpu", 1): "the logarithms of the sums: a second derivative goes through them",
}


def reason_left(operator, key, args):
    values = {name: content for name, (_, content) in args.items()}
    return next((why for ops, keys, holds, why in LEFT if operator in ops.split() and fnmatch.fnmatch(key, keys) and holds(values)), "")


TOLERANCE = {torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float16: (1e-3, 1e-5)}


def difference(got, want):
    """(part of the tolerance used, text of a failure)."""
    if got.dtype != want.dtype:
        return 0, f"is {got.dtype}, PyTorch's is {want.dtype}"
    if got.shape != want.shape:
        return 0, f"is {tuple(got.shape)}, PyTorch's is {tuple(want.shape)}"
    if got.numel() == 0:
        return 0, ""
    if not got.dtype.is_floating_point:
        bad = (got != want).nonzero()
        return 0, "" if not len(bad) else f"at {bad[0].tolist()}: {got[tuple(bad[0])].item()}, PyTorch's {want[tuple(bad[0])].item()}"
    rtol, atol = TOLERANCE[got.dtype]
    a, b = got.double(), want.double()
    same = (a == b) | (a.isnan() & b.isnan())
    part = torch.where(same, 0.0, (a - b).abs() / (atol + rtol * b.abs()))
    part = torch.where(part.isnan(), math.inf, part)
    worst = part.max().item()
    if worst <= 1:
        return worst, ""
    at = tuple((part == worst).nonzero()[0].tolist())
    return worst, f"at {list(at)}: {a[at].item()}, PyTorch's {b[at].item()}"


class Operator:
    def __init__(self, name, folder):
        with open(os.path.join(folder, name + ".json")) as f:
            self.entry = json.load(f)
        self.name, self.tensors = name, read_safetensors(os.path.join(folder, name + ".safetensors"))
        self.results = self.gradients = self.by_f64 = self.no_peer = self.no_gradient = self.left = 0
        self.worst, self.failures, self.reason, self.left_why = 0.0, [], "", ""

    def compare(self, where, key, want, exact):
        for engine in ("reference", "compiled"):
            got = self.tensors.get(f"{engine}.{key}")
            if got is None:
                return False
            part, why = difference(got, want)
            wide = exact.get(key) if why and got.dtype.is_floating_point else None
            if wide is not None and wide.dtype.is_floating_point and got.dtype == want.dtype:
                part, still = difference(got, wide.to(got.dtype))
                if not still:
                    self.by_f64 += 1
                    why = ""
            self.worst = max(self.worst, 0 if why else part)
            if why:
                self.failures.append(f"{self.name}, sample {where}, {engine} {key}: {why}")
        return True

    def compare_differentiable(self, sample, position, key, value):
        """Whether result `position` has a gradient: a cotangent here, requires_grad there."""
        ours, theirs = f"cotangent.{key}" in self.tensors, value.requires_grad
        if ours != theirs and not (ours and (self.name, position) in MORE):
            self.failures.append(f"{self.name}, sample {sample['sample']}, result {position}: has {'a' if ours else 'no'} gradient, "
                                 f"PyTorch's has {'one' if theirs else 'none'}")

    def call_sample(self, sample, wide):
        """The arguments, and the results by return number with the gradients by name; floating operands in float64
        where `wide`."""
        leaves, args = {}, {}

        def leaf(name):
            if name is None:
                return None
            t = self.tensors[name].clone()
            if t.dtype.is_floating_point:
                t = (t.double() if wide else t).requires_grad_(f"reference.grad.{name}" in self.tensors)
            leaves[name] = t
            return t

        def attribute(v):
            v = value_of(v)
            return torch.float64 if wide and isinstance(v, torch.dtype) and v.is_floating_point else v
        for name, a in sample["args"]:
            if "tensor" in a:
                args[name] = ("tensor", leaf(a["tensor"]))
            elif "tensors" in a:
                args[name] = ("tensors", [leaf(x) for x in a["tensors"]])
            else:
                args[name] = ("value", attribute(a["value"]))
        try:
            out = call(self.name, args)
        except NoOverload:
            for t in leaves.values():
                t.requires_grad_(False)
            out = call(self.name, args)
        found, total = {}, 0
        asked = any(t.requires_grad for t in leaves.values())
        for position, (k, value) in enumerate(zip(sample["returns"], list(out) if isinstance(out, (list, tuple)) else [out])):
            if k is None or value is None:
                continue
            found[str(k)] = value.detach()
            if asked and not wide and value.dtype.is_floating_point:
                self.compare_differentiable(sample, position, k, value)
            cotangent = self.tensors.get(f"cotangent.{k}")
            if cotangent is not None and value.requires_grad and value.shape == cotangent.shape:
                total = total + (value.double() * cotangent.double()).sum()
        wanted = {n: t for n, t in leaves.items() if t.requires_grad}
        if not isinstance(total, torch.Tensor) or not wanted:
            return args, found
        try:
            grads = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
        except (RuntimeError, NotImplementedError):
            self.no_gradient += not wide
            return args, found
        found.update({f"grad.{n}": g.to_dense() for n, g in zip(wanted, grads) if g is not None})
        return args, found

    def run_sample(self, sample):
        try:
            args, found = self.call_sample(sample, False)
        except NoOverload as e:
            self.no_peer += 1
            self.reason = f"sample {sample['sample']}: {e}"
            return
        try:
            _, exact = self.call_sample(sample, True)
        except NoOverload:
            exact = {}
        for key, want in found.items():
            place = f"result.{sample['returns'].index(int(key))}" if key.isdigit() else "grad." + key.split(".", 2)[2]
            if why := reason_left(self.name, place, args):
                self.left, self.left_why = self.left + 1, why
                continue
            compared = self.compare(sample["sample"], key, want, exact)
            if key.startswith("grad."):
                self.gradients += compared
            else:
                self.results += compared


def run_samples(name, folder, samples):
    """The operator with the given samples compared, in a process of its own; None where PyTorch ends that process."""
    def child(pipe):
        o = Operator(name, folder)
        for sample in o.entry["samples"]:
            if sample["sample"] in samples:
                try:
                    o.run_sample(sample)
                except Exception as e:
                    o.failures.append(f"{name}, sample {sample['sample']}: can't be compared: {e!r}"[:400])
        o.tensors = {}
        pipe.send(o)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=child, args=(theirs,))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return None
    finally:
        process.join()


def run_operator(name, folder):
    with open(os.path.join(folder, name + ".json")) as f:
        numbers = [s["sample"] for s in json.load(f)["samples"]]
    whole = run_samples(name, folder, numbers)
    if whole is not None:
        return whole
    total = Operator(name, folder)
    for n in numbers:  # PyTorch 2.13 divides the least integer by -1 with a trap, for one
        one = run_samples(name, folder, [n])
        if one is None:
            total.no_peer += 1
            total.reason = f"sample {n}: it ends the process"
            continue
        for field in ("results", "gradients", "by_f64", "no_peer", "no_gradient", "left"):
            setattr(total, field, getattr(total, field) + getattr(one, field))
        total.reason = one.reason or total.reason
        total.left_why = one.left_why or total.left_why
        total.worst = max(total.worst, one.worst)
        total.failures += one.failures
    return total


def write_and_run(program, name, folder):
    """The operator compared; else what its sample writer says."""
    made = subprocess.run([program, folder, name], capture_output=True, text=True)
    return made.stderr.strip() if made.returncode else run_operator(name, folder)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, asked = sys.argv[1], sys.argv[2:]
    names = [n for n in subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split() if n in (asked or [n])]
    print(f"{'operator':<52}{'samples':>8}{'results':>8}{'gradients':>10}{'part of tolerance':>18}")
    failures, totals, operators = [], [0, 0, 0], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compared = [n for n in sorted(names) if n not in OWN]
        for name in sorted(set(names) - set(compared)):
            print(f"{name:<52}  not compared: {OWN[name]}")
        for name, o in zip(compared, pool.map(lambda n: write_and_run(program, n, folder), compared)):
            if isinstance(o, str):
                failures.append(o)
                continue
            note = f"  {o.no_peer} refused by PyTorch: {o.reason[:90]}" if o.no_peer else ""
            note += f"  {o.by_f64} by PyTorch's float64" if o.by_f64 else ""
            note += f"  {o.left} left: {o.left_why}" if o.left else ""
            note += f"  {o.no_gradient} without gradient there" if o.no_gradient else ""
            print(f"{name:<52}{len(o.entry['samples']):>8}{o.results:>8}{o.gradients:>10}{o.worst:>18.3f}{note}", flush=True)
            failures += o.failures
            operators += 1
            for i, n in enumerate((len(o.entry["samples"]), o.results, o.gradients)):
                totals[i] += n
    print(f"{operators} operators, {totals[0]} samples ({totals[0] / max(operators, 1):.1f} each), {totals[1]} results and "
          f"{totals[2]} gradients compared by both engines, {len(failures)} differ")
    for f in failures:
        print("  " + f)
    sys.exit(1 if failures else 0)


main()
