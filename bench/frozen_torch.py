#!/usr/bin/env python3
"""Inference with frozen weights in PyTorch: the models of bench/frozen.cpp, from what it saved.

    python3 bench/frozen_torch.py MODEL BATCH FOLDER eager|compile|frozen [--seconds 3] [--threads N]

FOLDER: what `bench_frozen MODEL BATCH --save FOLDER` wrote. `frozen` is torch.compile with Inductor's freezing. Prints one JSON
object: ms (median of n runs), cold_ms (from the model to the end of the first run), error and ours_error: the largest
difference of its result, and of the saved one, from the same model in float64, by the largest number there.
"""
import argparse, json, os

import torch
from safetensors.torch import load_file

from gpt_torch import Gpt
from resnet_torch import ResNet50
from step_timing import ms_of, timed

TOKENS = {"gpt2": (50257, 12, 768, 12, 1024), "bert_small": (30522, 4, 512, 8, 512, 0.0, False)}


def resnet_name(name):
    """layer2_1.conv1.weight -> layers.4.conv1.weight"""
    if not name.startswith("layer"): return name
    head, _, rest = name.partition(".")
    stage, k = map(int, head[5:].split("_"))
    return f"layers.{sum((3, 4, 6, 3)[:stage - 1]) + k}.{rest}"


def load(name, batch, folder):
    model = Gpt(*TOKENS[name]) if name in TOKENS else ResNet50()
    weights = load_file(f"{folder}/weights.safetensors")
    if name not in TOKENS: weights = {resnet_name(n): t for n, t in weights.items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    wrong = [n for n in missing if not n.endswith("num_batches_tracked")] + unexpected
    if wrong: raise SystemExit(f"{folder}: weights that don't fit: {wrong}")
    kind, shape, result = (torch.int64, (batch, 128), (batch, 128, TOKENS[name][0])) if name in TOKENS else (torch.float32, (batch, 3, 224, 224), (batch, 1000))
    read = lambda file, t, s: torch.frombuffer(bytearray(open(f"{folder}/{file}", "rb").read()), dtype=t).view(s)
    return model.eval(), read("input", kind, shape), read("result", torch.float32, result)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model", choices=[*TOKENS, "resnet50"])
    p.add_argument("batch", type=int)
    p.add_argument("folder")
    p.add_argument("peer", choices=["eager", "compile", "frozen"])
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model, x, ours = load(a.model, a.batch, a.folder)
    if a.peer == "frozen":
        from torch._inductor import config
        config.freezing = True
    with torch.no_grad():
        run = model.logits if a.peer == "eager" else torch.compile(model.logits)
        cold_ms, y = ms_of(lambda: run(x))
        y = y.clone()
        runs, _ = timed(lambda: run(x), a.seconds)
        want = load(a.model, a.batch, a.folder)[0].double().logits(x.double() if x.is_floating_point() else x)
        error = lambda y: ((y.double() - want).abs().max() / want.abs().max()).item()
        print(json.dumps({"ms": runs[len(runs) // 2], "min_ms": runs[0], "n": len(runs), "cold_ms": cold_ms, "error": error(y), "ours_error": error(ours)}))


main()
