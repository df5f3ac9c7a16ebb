#!/usr/bin/env python3
"""test/peer/examples.py BIN [--f64] [NAME ...]: the models of example/ beside the same ones in plain PyTorch.

BIN holds the programs example_NAME. Each runs 20 steps with --record; PyTorch starts from the same state_dict and is fed
the same batches and learning rates, in f32; in f64 too where the losses differ by more than 1e-5, or with --f64.
Asserted of each:

  - load_state_dict(strict=True) takes cleave's file, and cleave takes PyTorch's after the 20 steps: written again its
    tensors have the same bits, and the loss from there is PyTorch's
  - the 20 losses agree with PyTorch's to 1e-5, relative. Where they don't, the model itself must be to blame (resnet18:
    batch norms over 8 pictures, and a ReLU that gets the other sign, turn 1e-7 into 1e-2 within ten steps, in steps of
    any size): the first loss agrees to 1e-5, and each is as near to f64's, within a factor of 10, as the worst loss
    up to there of eight runs of PyTorch in f32 whose first parameters are off by a few roundings

Exit status 77 without PyTorch or safetensors.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
    from example_models import MODELS
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

STEPS = 20
LIMIT = 1e-5
PERTURBED, ROUNDINGS = 8, 2.0**-21  # runs; relative
OPTIONS = {"resnet18": ["--width", "16"]}  # as example_models.py has it; the full one takes minutes


def run_example(binary, name, folder, steps, init=None):
    os.mkdir(folder)
    command = [binary, "--steps", str(steps), "--record", folder] + OPTIONS.get(name, []) + (["--init", init] if init else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    files = [load_file(f"{folder}/{f}.safetensors") for f in ("init", "final", "batches")]
    return files, json.load(open(f"{folder}/figures.json"))


def run_torch(name, init, batches, dtype, after_step=None):
    model, loss_of, optimizer, clip = MODELS[name]()
    model.load_state_dict(init, strict=True)
    model.to(dtype)
    inputs = [batches[k] for k in sorted(k for k in batches if k.startswith("inputs."))]
    losses = []
    for i, lr in enumerate(batches["lr"].tolist()):
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.zero_grad()
        loss = loss_of(model, *(x[i].to(dtype) if x.is_floating_point() else x[i] for x in inputs))
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
        if after_step:
            after_step()
    return model, losses


def differences(a, b):
    return [abs(x - y) / abs(y) for x, y in zip(a, b)]


def perturbed_losses(name, init, batches, seed):
    random = torch.Generator().manual_seed(seed)
    off = {k: v * (1 + (2 * torch.rand(v.shape, generator=random) - 1) * ROUNDINGS) if v.is_floating_point() else v for k, v in init.items()}
    return run_torch(name, off, batches, torch.float32)[1]


def within_reach(name, init, batches, ours, exact):
    """How many losses are within reach of f64 for an f32 that is right."""
    runs = [differences(perturbed_losses(name, init, batches, seed), exact) for seed in range(PERTURBED)]
    worst = 0.0
    for i, off in enumerate(differences(ours, exact)):
        worst = max(worst, *(run[i] for run in runs))
        if not off <= max(LIMIT, 10 * worst):
            return i
    return len(ours)


def compare(binary, name, folder, f64):
    """A row of the table, and what is wrong."""
    (init, final, batches), figures = run_example(binary, name, f"{folder}/a", STEPS)
    wrong = []
    model, theirs = run_torch(name, init, batches, torch.float32)
    ours = batches["loss"].tolist()
    peer = max(differences(ours, theirs))
    exact = run_torch(name, init, batches, torch.float64)[1] if f64 or peer > LIMIT else None

    # Back: PyTorch's state_dict into cleave, written again, and its loss.
    state = {k: v.contiguous() for k, v in model.state_dict().items()}
    trained = dict(model.named_parameters())
    apart = math.sqrt(sum((final[k] - p).double().square().sum().item() for k, p in trained.items()))
    way = math.sqrt(sum((init[k] - p).double().square().sum().item() for k, p in trained.items()))
    save_file(state, f"{folder}/torch.safetensors")
    (again, _, first), _ = run_example(binary, name, f"{folder}/b", 1, f"{folder}/torch.safetensors")
    if again.keys() != state.keys() or any(not torch.equal(again[k], state[k]) for k in state):
        wrong.append("PyTorch's state_dict changes on its way through cleave")
    _, expected = run_torch(name, state, first, torch.float32)
    if not max(differences(first["loss"].tolist(), expected)) <= LIMIT:
        wrong.append(f"loss from PyTorch's state_dict is {first['loss'].item()}, PyTorch's {expected[0]}")

    row = {"name": name, "peer": peer, "steps": STEPS, "parameters": apart / way, "first": ours[0], "last": ours[-1], **figures}
    row |= {side: max(differences(losses, exact)) if exact else math.nan for side, losses in (("ours", ours), ("theirs", theirs))}
    if not peer <= LIMIT:
        near = within_reach(name, init, batches, ours, exact)
        if near < STEPS:
            wrong.append(f"loss {near} is {ours[near]}, PyTorch's {theirs[near]}, in f64 {exact[near]}: more than roundings explain")
        row |= {"peer": differences(ours, theirs)[0], "steps": 1}
        if not row["peer"] <= LIMIT:
            wrong.append(f"the first loss differs by {row['peer']:.1e} from PyTorch's, expected at most {LIMIT:.0e}")
    return row, wrong


def main():
    names = [a for a in sys.argv[2:] if a != "--f64"] or list(MODELS)
    torch.set_num_threads(2)
    print(f"largest relative difference of the losses from PyTorch's in f32, and of both from f64's over {STEPS} steps; how far apart the parameters then are, of the way they went\n")
    print(f"{'example':<10}{'loss':>18}{'steps':>7}{'from PyTorch':>14}{'from f64':>10}{'PyTorch f32 from f64':>22}{'parameters':>12}{'compile ms':>12}{'nodes':>7}")
    failed = False
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            row, wrong = compare(os.path.join(sys.argv[1], f"example_{name}"), name, folder, "--f64" in sys.argv)
        fall = f"{row['first']:.3f} -> {row['last']:.3f}"
        print(f"{name:<10}{fall:>18}{row['steps']:>7}{row['peer']:>14.1e}{row['ours']:>10.1e}{row['theirs']:>22.1e}{row['parameters']:>12.1e}"
              f"{row['compile_ms']:>12.0f}{row['nodes']:>7}", flush=True)
        for line in wrong:
            print(f"  WRONG: {line}")
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
