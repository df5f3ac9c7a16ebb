#!/usr/bin/env python3
"""Single operators of about a million elements beside eager PyTorch, through torch.compile(backend="cleave").

    PYTHONPATH=build/release/python bench/peer_operators.py [--only argmax,atan2] [--target x86-64-v3] [--below 0.8]

Milliseconds of a call and of a call with its gradient, medians of .15 s on two threads; ratios are eager's time by ours
(above 1: ours is faster). A kernel that runs element by element shows here, and in no model. With --target the peer is
told to use the same instructions. Where eager's result is a view, or fits a cache, its time is that of no memory.
"""
import argparse, math, warnings

from peer_target import start_here
from step_timing import median_ms


def cases():
    import torch
    from torch.nn import functional as F
    torch.manual_seed(0)
    r, ints = torch.randn, torch.randint
    x, y, z = r(1024, 1000), r(1024, 1000), r(64, 128, 128)
    image, positive, mask = r(8, 32, 64, 64), r(1024, 1000).abs() + .1, r(1024, 1000) > 0
    columns, rows = ints(0, 1000, (1024, 1000)), ints(0, 1024, (1024, 1000))
    whole, small = ints(1, 100000, (1024, 1000)), ints(1, 60, (1024, 1000))
    of_x = dict(
        argmax=lambda x: x.argmax(1), argmax_columns=lambda x: x.argmax(0), max=lambda x: x.max(1), min_columns=lambda x: x.min(0),
        topk=lambda x: x.topk(10, 1), sort=lambda x: x.sort(1), median=lambda x: x.median(1), cumsum=lambda x: x.cumsum(1),
        cumsum_columns=lambda x: x.cumsum(0), cumprod=lambda x: x.cumprod(1), cummax=lambda x: x.cummax(1),
        logcumsumexp=lambda x: x.logcumsumexp(1), roll=lambda x: x.roll(3, 1), flip=lambda x: x.flip(1), flip_rows=lambda x: x.flip(0),
        tril=lambda x: x.tril(), repeat=lambda x: x.repeat(2, 2), repeat_interleave=lambda x: x.repeat_interleave(2, 1),
        transpose=lambda x: x.t().contiguous(), pad=lambda x: F.pad(x, (1, 1, 1, 1)), softmax=lambda x: x.softmax(1),
        softmax_columns=lambda x: x.softmax(0), logsumexp=lambda x: x.logsumexp(1), layer_norm=lambda x: F.layer_norm(x, (1000,)),
        norm=lambda x: x.norm(dim=1), normalize=lambda x: F.normalize(x, dim=1), std=lambda x: x.std(1), std_columns=lambda x: x.std(0),
        prod=lambda x: x.prod(1), diff=lambda x: x.diff(dim=1), erf=torch.erf, erfinv=lambda x: torch.erfinv(x.tanh() * .99),
        log1p=lambda x: torch.log1p(x.abs()), expm1=torch.expm1, tan=torch.tan, asinh=torch.asinh, sinh=torch.sinh, cosh=torch.cosh,
        atan=torch.atan, asin=lambda x: torch.asin(x.tanh()), i0=torch.i0, sinc=torch.sinc, softplus=F.softplus, mish=F.mish,
        gelu=F.gelu, hardswish=F.hardswish, to_bf16=lambda x: x.to(torch.bfloat16), nan_to_num=lambda x: x.nan_to_num())
    of_two = dict(
        atan2=torch.atan2, fmod=torch.fmod, remainder=torch.remainder, hypot=torch.hypot, cat=lambda x, y: torch.cat([x, y], 1),
        stack=lambda x, y: torch.stack([x, y], -1), lerp=lambda x, y: torch.lerp(x, y, .3), addcmul=lambda x, y: torch.addcmul(x, x, y))
    of_image = dict(
        reflect=lambda m: F.pad(m, (2, 2, 2, 2), mode="reflect"), circular=lambda m: F.pad(m, (2, 2, 2, 2), mode="circular"),
        max_pool=lambda m: F.max_pool2d(m, 3, 2, 1), avg_pool=lambda m: F.avg_pool2d(m, 3, 1, 1),
        adaptive_avg_pool=lambda m: F.adaptive_avg_pool2d(m, 7), adaptive_max_pool=lambda m: F.adaptive_max_pool2d(m, 7),
        bilinear=lambda m: F.interpolate(m, scale_factor=2, mode="bilinear"), nearest=lambda m: F.interpolate(m, scale_factor=2),
        pixel_shuffle=lambda m: F.pixel_shuffle(m, 2), group_norm=lambda m: F.group_norm(m, 8),
        batch_norm=lambda m: F.batch_norm(m, None, None, training=True))
    out = {name: (f, x) for name, f in of_x.items()}
    out |= {name: (f, x, y) for name, f in of_two.items()}
    out |= {name: (f, image) for name, f in of_image.items()}
    out |= {
        "pow": (lambda p: p ** 1.7, positive), "lgamma": (torch.lgamma, positive), "digamma": (torch.digamma, positive),
        "xlogy": (torch.xlogy, positive, positive), "sum_middle": (lambda z: z.sum(1), z), "cumsum_middle": (lambda z: z.cumsum(1), z),
        "permute": (lambda z: z.permute(2, 0, 1).contiguous(), z), "where": (lambda x, y, m: torch.where(m, x, y), x, y, mask),
        "gather": (lambda x, i: x.gather(1, i), x, columns), "gather_columns": (lambda x, i: x.gather(0, i), x, rows),
        "scatter_add": (lambda x, i, y: x.scatter_add(1, i, y), x, columns, y),
        "index_select": (lambda x, i: x.index_select(0, i), x, ints(0, 1024, (4096,))),
        "index_add": (lambda x, i, y: x.index_add(0, i, y), x, ints(0, 1024, (4096,)), r(4096, 1000)),
        "embedding": (lambda w, i: F.embedding(i, w), r(10000, 64), ints(0, 10000, (64, 256))),
        "grid_sample": (lambda m, g: F.grid_sample(m, g, align_corners=False), image, r(8, 64, 64, 2).clamp(-1, 1)),
        "unfold": (lambda m: F.unfold(m, 3), image[:, :8]), "cross": (torch.linalg.cross, r(300000, 3), r(300000, 3)),
        "floor_divide": (lambda a, b: a // b, whole, small), "bits": (lambda a, b: (a & 255) ^ (a >> b), whole, small),
        "bucketize": (torch.bucketize, x, torch.linspace(-3, 3, 64)), "histc": (lambda x: torch.histc(x, 100, -3, 3), x),
        "bmm_small": (torch.bmm, r(4096, 8, 8), r(4096, 8, 8)),
        "inverse_small": (lambda a: torch.linalg.inv(a + 4 * torch.eye(4)), r(4096, 4, 4)),
        "exp_f64": (torch.exp, x.double()), "log_f64": (torch.log, positive.double()), "tanh_f64": (torch.tanh, x.double()),
        "sin_f64": (torch.sin, x.double()),
    }
    return out


def first(result): return result[0] if isinstance(result, tuple) else result


def measure(f, operands, options, seconds=.15):
    """Milliseconds of eager and ours; of both with gradients, or None where there are none."""
    import torch
    torch._dynamo.reset()
    ours = torch.compile(lambda *a: f(*a), backend="cleave", options=options)
    forward = median_ms(lambda: f(*operands), seconds), median_ms(lambda: ours(*operands), seconds)
    leaves = [a.clone().requires_grad_() if a.is_floating_point() else a for a in operands]
    if not first(f(*leaves)).requires_grad: return forward, None
    torch._dynamo.reset()
    ours = torch.compile(lambda *a: f(*a), backend="cleave", options=options)
    def step(g):
        for a in leaves: a.grad = None
        first(g(*leaves)).sum().backward()
    return forward, (median_ms(lambda: step(f), seconds), median_ms(lambda: step(ours), seconds))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", type=lambda t: t.split(","))
    p.add_argument("--target", default="native")
    p.add_argument("--below", type=float, default=math.inf, help="print those whose ratios are below alone")
    a = p.parse_args()
    if not start_here(a.target): return
    warnings.filterwarnings("ignore")
    print(f"{'operator':<20}{'eager ms':>9}{'ours':>8}{'ratio':>7}{'+ grad':>9}{'ours':>8}{'ratio':>7}")
    ratios = []
    for name, (f, *operands) in cases().items():
        if a.only and name not in a.only: continue
        (eager, ours), grad = measure(f, operands, {} if a.target == "native" else {"target": a.target})
        both = [eager / ours] + ([grad[0] / grad[1]] if grad else [])
        ratios += both
        if min(both) >= a.below: continue
        of_grad = f"{grad[0]:>9.3f}{grad[1]:>8.3f}{both[1]:>7.2f}" if grad else ""
        print(f"{name:<20}{eager:>9.3f}{ours:>8.3f}{both[0]:>7.2f}{of_grad}", flush=True)
    if ratios:
        print(f"geomean of {len(ratios)} ratios {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
              f"{sum(x < 1 for x in ratios)} below 1")


if __name__ == "__main__": main()
