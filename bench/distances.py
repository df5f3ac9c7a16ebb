"""How far tensors are from exact ones."""


def distance(got, exact):
    """The largest, of several tensors, of the largest difference by the largest element; a tensor that is nearly 0 beside the
    others, such as the gradient of a bias in front of a norm, is measured by these."""
    least = 1e-4 * max((e.abs().max().item() for e in exact.values() if e.numel()), default=0)
    most = 0.0
    for name, e in exact.items():
        if name not in got or not e.numel():
            continue
        scale = max(e.abs().max().item(), least)
        if scale > 0:
            error = (got[name].double() - e).abs().max().item() / scale
            most = max(most, error if error == error else float("inf"))
    return most
