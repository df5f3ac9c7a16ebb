#!/usr/bin/env python3
"""test/peer/autocast.py BIN [--dtype f16] [NAME ...]: the models of example/ under autocast, beside PyTorch's CPU autocast.

BIN holds the programs example_NAME. Each trains 20 steps with --autocast and --record; PyTorch starts from the same
state_dict and is fed the same batches and learning rates, in f32 and under torch.autocast. Asserted of each:

  - cleave's losses are no further from PyTorch's in f32 than twice what PyTorch's own autocast is, root mean square over the
    steps, and 1e-4 of the loss (where autocast happens to be nearly exact)
  - the parameters and gradients stay f32: the state_dict written is f32, and PyTorch takes it

A model whose layer PyTorch itself doesn't have in that dtype on this processor (oneDNN's LSTM in bf16 needs AVX-512) is
skipped by name; that cleave trains it is still seen. Asserted as well
of one call of each kind that lists of policies tell apart: its result has the dtype that PyTorch's has (`cleave print
--autocast bf16`). Exit status 77 without PyTorch or safetensors.
"""
import math
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file
    from example_models import MODELS
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

STEPS = 20
SMALL = 1e-4
OPTIONS = {"resnet18": ["--width", "16"]}
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


def run_ours(binary, name, dtype, folder):
    done = subprocess.run([binary, "--steps", str(STEPS), "--autocast", dtype, "--record", folder, *OPTIONS.get(name, [])],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode: sys.exit(f"{binary}: exit status {done.returncode}\n{done.stdout}")
    return [load_file(f"{folder}/{f}.safetensors") for f in ("init", "final", "batches")]


def run_torch(name, init, batches, dtype):
    """dtype None: f32."""
    model, loss_of, optimizer, clip = MODELS[name]()
    model.load_state_dict(init, strict=True)
    inputs = [batches[k] for k in sorted(k for k in batches if k.startswith("inputs."))]
    scaler = torch.amp.GradScaler("cpu", enabled=dtype is torch.float16)  # as ours do by default
    losses = []
    for i, lr in enumerate(batches["lr"].tolist()):
        for group in optimizer.param_groups: group["lr"] = lr
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            loss = loss_of(model, *(x[i] for x in inputs))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if clip: torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def lstm(dtype):
    layer = torch.nn.LSTM(4, 4)
    with torch.autocast("cpu", dtype): y, _ = layer(torch.rand(3, 2, 4))
    y.float().sum().backward()


# What a model needs of PyTorch that some processors don't give it.
NEEDS = {"lstm": lstm}


def peer_lacks(name, dtype):
    """Why PyTorch can't train the model in that dtype on this processor; empty where it can."""
    try:
        NEEDS.get(name, lambda _: None)(DTYPES[dtype])
        return ""
    except RuntimeError as error:
        return str(error).split(". ")[0]


def apart(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / len(a))


def compare(binary, name, dtype):
    """(cleave's distance from f32, PyTorch's, mean loss), and what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        init, final, batches = run_ours(binary, name, dtype, folder)
    ours = batches["loss"].tolist()
    exact = run_torch(name, init, batches, None)
    wrong = [f"{k} is {v.dtype}" for k, v in final.items() if v.is_floating_point() and v.dtype != torch.float32]
    size = sum(exact) / len(exact)
    if peer_lacks(name, dtype): return (apart(ours, exact), math.nan, size), wrong
    theirs = run_torch(name, init, batches, DTYPES[dtype])
    row = apart(ours, exact), apart(theirs, exact), size
    if not row[0] <= 2 * row[1] + SMALL * size:
        wrong.append(f"{row[0]:.2e} from f32, PyTorch's autocast is {row[1]:.2e}")
    return row, wrong


# One call of a kind: its statement in a graph, where %b comes from a product and is bf16, %x and %w are f32; and PyTorch's.
CALLS = {
    "mm": ("mm(%x, %w)", lambda b, x, w: x @ w),
    "addmm": ("addmm(%x, %x, %w)", lambda b, x, w: torch.addmm(x, x, w)),
    "add, mixed": ("add(%b, %x)", lambda b, x, w: b + x),
    "add, lower": ("add(%b, %b)", lambda b, x, w: b + b),
    "exp": ("exp(%b)", lambda b, x, w: b.exp()),
    "exp, f32": ("exp(%x)", lambda b, x, w: x.exp()),
    "softmax": ("_softmax(%b; dim=1, half_to_float=false)", lambda b, x, w: b.softmax(1)),
    "gelu": ("gelu(%b)", lambda b, x, w: F.gelu(b)),
    "sum": ("sum(%b)", lambda b, x, w: b.sum()),
    "mean": ("mean(%b)", lambda b, x, w: b.mean()),
    "prod": ("prod(%b)", lambda b, x, w: b.prod()),
    "cat, mixed": ("cat([%b, %x])", lambda b, x, w: torch.cat([b, x])),
    "cat, lower": ("cat([%b, %b])", lambda b, x, w: torch.cat([b, b])),
    "stack": ("stack([%x, %b])", lambda b, x, w: torch.stack([x, b])),
    "layer_norm": ("native_layer_norm(%b; normalized_shape=[4], eps=1e-05)", lambda b, x, w: F.layer_norm(b, [4])),
    "where": ("where(%c, %b, %x)", lambda b, x, w: torch.where(x > 0, b, x)),
    "pow": ("pow(%b; exponent=2.0)", lambda b, x, w: b.pow(2.0)),
    "cumsum": ("cumsum(%b; dim=0)", lambda b, x, w: b.cumsum(0)),
    "reflection_pad1d": ("reflection_pad1d(%b; padding=[1,1])", lambda b, x, w: F.pad(b, (1, 1), mode="reflect")),
    "replication_pad1d": ("replication_pad1d(%b; padding=[1,1])", lambda b, x, w: F.pad(b, (1, 1), mode="replicate")),
    "max_pool2d": ("max_pool2d_with_indices(%i; kernel_size=[2,2])", lambda b, x, w: F.max_pool2d(b.view(1, 1, 4, 4), 2)),
    "avg_pool2d": ("avg_pool2d(%i; kernel_size=[2,2])", lambda b, x, w: F.avg_pool2d(b.view(1, 1, 4, 4), 2)),
    "avg_pool3d": ("avg_pool3d(%v; kernel_size=[1,2,2])", lambda b, x, w: F.avg_pool3d(b.view(1, 1, 1, 4, 4), (1, 2, 2))),
    "max_pool3d": ("max_pool3d_with_indices(%v; kernel_size=[1,2,2])", lambda b, x, w: F.max_pool3d(b.view(1, 1, 1, 4, 4), (1, 2, 2))),
    "adaptive_avg_pool3d": ("_adaptive_avg_pool3d(%v; output_size=[1,2,2])", lambda b, x, w: F.adaptive_avg_pool3d(b.view(1, 1, 1, 4, 4), (1, 2, 2))),
    "scaled_dot_product_attention": ("scaled_dot_product_attention(%f, %f, %f)", lambda b, x, w: F.scaled_dot_product_attention(*[x.view(1, 1, 4, 4)] * 3)),
    "conv2d": ("convolution(%f, %k; stride=[1,1], padding=[0,0], dilation=[1,1], transposed=false, output_padding=[0,0], groups=1)",
               lambda b, x, w: F.conv2d(x.view(1, 1, 4, 4), torch.ones(1, 1, 1, 1))),
}
HEAD = """graph @main(%x: input f32[4,4], %w: param f32[4,4], %k: param f32[1,1,1,1]) {
  %b = mm(%x, %w)
  %c = gt(%x; other=0)
  %i = view(%b; size=[1,1,4,4])
  %v = view(%b; size=[1,1,1,4,4])
  %f = view(%x; size=[1,1,4,4])
"""


def call_dtypes(cleave):
    """What is wrong with the results' dtypes."""
    wrong = []
    x, w = torch.rand(4, 4), torch.rand(4, 4)
    names = {torch.bfloat16: "bf16", torch.float32: "f32"}
    for name, (statement, call) in CALLS.items():
        results = "%y, %y2" if "_with_indices" in statement else "%y, %y2, %y3" if "layer_norm" in statement else "%y"
        text = f"{HEAD}  {results} = {statement}\n  return %y\n}}\n"
        done = subprocess.run([cleave, "print", "-", "--autocast", "bf16"], input=text, capture_output=True, text=True)
        if done.returncode:
            wrong.append(f"{name}: {done.stderr.strip()}")
            continue
        line = next(line for line in done.stdout.splitlines() if line.startswith(f"  {results} ="))
        ours = line.rsplit(" : ", 1)[1].split("[")[0]
        with torch.autocast("cpu", torch.bfloat16):
            theirs = names[call(x @ w, x, w).dtype]
        if ours != theirs: wrong.append(f"{name} gives {ours}, PyTorch's {theirs}")
    return wrong


def main():
    arguments = sys.argv[2:]
    dtype = "bf16"
    if "--dtype" in arguments:
        at = arguments.index("--dtype")
        dtype = arguments[at + 1]
        del arguments[at:at + 2]
    torch.set_num_threads(2)
    failed = False
    if dtype == "bf16":
        wrong = call_dtypes(os.path.join(sys.argv[1], "cleave"))
        print(f"dtypes of {len(CALLS)} calls' results: {len(CALLS) - len(wrong)} as PyTorch's")
        for line in wrong: print(f"  WRONG: {line}")
        failed = bool(wrong)
    print(f"{'example':<10}{'mean loss':>10}{'cleave ' + dtype + ' from f32':>22}{'PyTorch ' + dtype + ' from f32':>24}")
    for name in arguments or list(MODELS):
        (ours, theirs, size), wrong = compare(os.path.join(sys.argv[1], f"example_{name}"), name, dtype)
        print(f"{name:<10}{size:>10.4f}{ours:>22.2e}{theirs:>24.2e}", flush=True)
        for line in wrong: print(f"  WRONG: {line}")
        if math.isnan(theirs): print(f"  not compared: PyTorch has no {name} in {dtype} on this processor: {peer_lacks(name, dtype)}")
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
