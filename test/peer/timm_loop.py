#!/usr/bin/env python3
"""test/peer/timm_loop.py [--steps 500]: a training loop with timm's parts, by torch.compile with cleave beside eager.

Two models of timm, a small transformer and a convolutional net with batch norms, learn which of four quadrants of a noisy
picture is bright. The loop is what timm's users write: create_optimizer_v2, CosineLRScheduler, LabelSmoothingCrossEntropy,
Mixup with soft targets, clipped gradients, averaged weights by ModelEmaV3, validation in evaluation mode, state_dict at the end.
Losses of the first steps agree to a few roundings. Those of all steps are, on the average, as near to a float64 run's as
eager's are: training makes differences of rounding grow. Both learn.

Needs PyTorch, timm and the Python package of cleave; exit status 77 without.
"""
import argparse
import copy
import importlib.util
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from architectures import torchvision_models  # noqa: E402

SIZE, FIRST, ALIKE = 32, 3, 1e-4


def models():
    import timm

    yield "vit", timm.create_model("vit_tiny_patch16_224", img_size=SIZE, patch_size=8, embed_dim=32, depth=2, num_heads=2,
                                         num_classes=4)
    yield "resnet", timm.models.ResNet(timm.models.resnet.BasicBlock, (1, 1, 1, 1), num_classes=4, channels=(8, 8, 16, 16),
                                               stem_width=8)


def pictures(n, generator):
    import torch

    t = torch.randint(0, 4, (n,), generator=generator)
    x = 0.5 * torch.randn(n, 3, SIZE, SIZE, generator=generator)
    half = SIZE // 2
    for k, c in enumerate(t.tolist()):
        x[k, :, half * (c // 2):half * (c // 2 + 1), half * (c % 2):half * (c % 2 + 1)] += 0.6
    return x, t


def train(model, steps, backend=None):
    """(losses, accuracy of the model, accuracy of the averaged one)"""
    import numpy as np
    import torch
    from timm.data.mixup import Mixup
    from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
    from timm.optim import create_optimizer_v2
    from timm.scheduler import CosineLRScheduler
    from timm.utils import ModelEmaV3, accuracy, dispatch_clip_grad

    generator = torch.Generator().manual_seed(1)
    np.random.seed(2)  # of Mixup
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=steps, warmup_t=10, warmup_lr_init=1e-4, t_in_epochs=False)
    average = ModelEmaV3(model, decay=0.98)
    mixup = Mixup(mixup_alpha=0.2, label_smoothing=0.1, num_classes=4)
    smooth, soft = LabelSmoothingCrossEntropy(0.1), SoftTargetCrossEntropy()
    f = torch.compile(model, backend=backend) if backend else model
    dtype, losses = next(model.parameters()).dtype, []
    for k in range(steps):
        f.train()
        x, t = pictures(16, generator)
        if k % 2:
            x, t = mixup(x, t)
        loss = (soft if k % 2 else smooth)(f(x.to(dtype)), t)
        optimizer.zero_grad()
        loss.backward()
        dispatch_clip_grad(model.parameters(), 1.0)
        optimizer.step()
        average.update(model, step=k)
        schedule.step_update(k + 1)
        losses.append(loss.item())
    f.eval()
    x, t = pictures(64, generator)
    with torch.no_grad():
        return losses, accuracy(f(x.to(dtype)), t)[0].item(), accuracy(average.module.eval()(x.to(dtype)), t)[0].item()


def check(what, good):
    if not good:
        raise SystemExit(f"FAILED: {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    steps = parser.parse_args().steps
    try:
        import torch

        if importlib.util.find_spec("torchvision"):
            torchvision_models()
        import timm  # noqa: F401

        import cleave
    except ImportError as e:
        print(f"skipped: {e}")
        return 77
    warnings.filterwarnings("error", message="cleave: ")  # an operator outside
    torch.manual_seed(0)
    for name, model in models():
        eager, exact = copy.deepcopy(model), copy.deepcopy(model).double()
        names = list(eager.state_dict())
        ours, *our_accuracy = train(model, steps, "cleave")
        theirs, *accuracy = train(eager, steps)
        true, *_ = train(exact, steps)
        far = lambda v: [abs(a - b) / b for a, b in zip(v, true)]
        mean, last = lambda v: sum(v) / len(v), lambda v: sum(v[-20:]) / len(v[-20:])
        print(f"{name}, {steps} losses beside float64's, eager and cleave: first {FIRST} {max(far(theirs)[:FIRST]):.1e} "
              f"{max(far(ours)[:FIRST]):.1e}, mean {mean(far(theirs)):.1e} {mean(far(ours)):.1e}; last 20 {last(theirs):.4f} "
              f"{last(ours):.4f}; accuracy, of averaged weights {accuracy} {our_accuracy}", flush=True)
        check(f"the first {FIRST} losses", max(far(ours)[:FIRST]) <= ALIKE)
        check("losses drift as eager's do", mean(far(ours)) <= 3 * mean(far(theirs)) + 1e-3)
        check("the names of state_dict", list(model.state_dict()) == names)
        if steps >= 300:
            check("both learn", last(theirs) < 0.8 * theirs[0] and last(ours) < 0.8 * ours[0])
            check("accuracy", all(a >= b - 10 for a, b in zip(our_accuracy, accuracy)))
    print(cleave.coverage())
    return 0


if __name__ == "__main__":
    sys.exit(main())
