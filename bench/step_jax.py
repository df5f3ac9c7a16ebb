#!/usr/bin/env python3
"""One whole training step in JAX: the models of bench/models/step_models.h, as one jitted program with donated state.

    python3 bench/step_jax.py MODEL [--seconds 3]

Prints the JSON object of bench/step_torch.py. Threads are those that the process may use.
"""
import argparse, functools, json, math, os

import jax
import jax.numpy as jnp
import numpy as np

from step_timing import ms_of, resident, timed

rng = np.random.default_rng(0)


def normal(*shape, scale=0.02): return jnp.asarray(rng.standard_normal(shape, np.float32) * np.float32(scale))
def affine(width): return {"scale": jnp.ones(width), "shift": jnp.zeros(width)}
def linear(inputs, outputs): return {"w": normal(inputs, outputs), "b": jnp.zeros(outputs)}
def apply_linear(p, x): return x @ p["w"] + p["b"]
def integers(below, *shape): return jnp.asarray(rng.integers(0, below, shape))


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["shift"]


def cross_entropy(logits, target):
    return (jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, target[..., None], -1)[..., 0]).mean()


def dropout(x, p, key):
    return x if p == 0 else jnp.where(jax.random.bernoulli(key, 1 - p, x.shape), x / (1 - p), 0)


def gpt(vocabulary, layers, width, heads, context, batch, time, p=0.0, causal=True, below=None):
    block = lambda: {"ln1": affine(width), "qkv": linear(width, 3 * width), "proj": linear(width, width),
                     "ln2": affine(width), "fc": linear(width, 4 * width), "out": linear(4 * width, width)}
    params = {"wte": normal(vocabulary, width), "wpe": normal(context, width), "blocks": [block() for _ in range(layers)], "lnf": affine(width)}

    def loss(params, state, key, idx, target):
        x = params["wte"][idx] + params["wpe"][:time]
        for b, key in zip(params["blocks"], jax.random.split(key, layers)):
            first, second = jax.random.split(key)
            q, k, v = jnp.moveaxis(apply_linear(b["qkv"], layer_norm(b["ln1"], x)).reshape(batch, time, 3, heads, width // heads), 2, 0)
            y = jax.nn.dot_product_attention(q, k, v, is_causal=causal).reshape(batch, time, width)
            x = x + dropout(apply_linear(b["proj"], y), p, first)
            h = jax.nn.gelu(apply_linear(b["fc"], layer_norm(b["ln2"], x)), approximate=True)
            x = x + dropout(apply_linear(b["out"], h), p, second)
        return cross_entropy(layer_norm(params["lnf"], x) @ params["wte"].T, target), state
    return params, None, loss, (integers(below or vocabulary, batch, time), integers(below or vocabulary, batch, time))


def mlp():
    params = [linear(*s) for s in ((784, 256), (256, 128), (128, 10))]

    def loss(params, state, key, x, y):
        for q in params[:-1]: x = jax.nn.relu(apply_linear(q, x))
        return cross_entropy(apply_linear(params[-1], x), y), state
    return params, None, loss, (normal(32, 784, scale=1), integers(10, 32))


def conv_norm(inputs, outputs, size):
    """A convolution and its batch norm, with the norm's running mean and variance."""
    kernel = normal(size, size, inputs, outputs, scale=math.sqrt(2 / (inputs * size * size)))
    return {"kernel": kernel, **affine(outputs)}, {"mean": jnp.zeros(outputs), "variance": jnp.ones(outputs)}


def apply_conv_norm(p, x, stride=1):
    pad = p["kernel"].shape[0] // 2
    x = jax.lax.conv_general_dilated(x, p["kernel"], (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    mean, variance, n = x.mean((0, 1, 2)), x.var((0, 1, 2)), x.size // x.shape[-1]
    seen = {"mean": mean, "variance": variance * n / (n - 1)}
    return (x - mean) * (jax.lax.rsqrt(variance + 1e-5) * p["scale"]) + p["shift"], seen


def resnet50():
    parts, strides, channels = [conv_norm(3, 64, 7)], [], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for k in range(blocks):
            width = 64 << stage
            parts += [conv_norm(channels, width, 1), conv_norm(width, width, 3), conv_norm(width, 4 * width, 1)]
            if k == 0: parts.append(conv_norm(channels, 4 * width, 1))
            strides.append((2 if stage and k == 0 else 1, k == 0))
            channels = 4 * width
    params = {"convs": [p for p, _ in parts], "fc": linear(2048, 1000)}

    def loss(params, state, key, x, y):
        convs, seen = iter(params["convs"]), []

        def layer(x, stride=1):
            x, s = apply_conv_norm(next(convs), x, stride)
            seen.append(s)
            return x
        x = jax.lax.reduce_window(jax.nn.relu(layer(x, 2)), -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        for stride, projects in strides:
            h = layer(jax.nn.relu(layer(jax.nn.relu(layer(x)), stride)))
            x = jax.nn.relu(h + (layer(x, stride) if projects else x))
        state = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * jax.lax.stop_gradient(new), state, seen)
        return cross_entropy(apply_linear(params["fc"], x.mean((1, 2))), y), state
    return params, [s for _, s in parts], loss, (normal(8, 128, 128, 3, scale=1), integers(1000, 8))


MODELS = {
    "demo": lambda: gpt(63, 4, 128, 4, 64, 12, 64),
    "mlp": mlp,
    "chargpt_small": lambda: gpt(96, 4, 128, 4, 64, 12, 64),
    "chargpt": lambda: gpt(96, 6, 384, 6, 256, 8, 256),
    "gpt2": lambda: gpt(50304, 12, 768, 12, 1024, 4, 64, below=50257),
    "bert_small": lambda: gpt(30522, 4, 512, 8, 512, 8, 128, 0.1, False),
    "resnet50": resnet50,
}
CLIP = {"demo": 1.0}


def adamw(p, g, m, v, t):
    """lr 1e-4 and PyTorch's other defaults."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = 1e-4 / (1 - 0.9 ** t) * m / (jnp.sqrt(v) / jnp.sqrt(1 - 0.999 ** t) + 1e-8)
    return p * (1 - 1e-4 * 0.01) - step, m, v


def clipped(grads, most):
    norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1, most / (norm + 1e-6)), grads)


def step_of(loss, clip):
    def step(params, state, m, v, t, *data):
        (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params, state, jax.random.fold_in(jax.random.key(0), t), *data)
        if clip: grads = clipped(grads, clip)
        t = t + 1
        leaves, form = jax.tree.flatten(params)
        moved = [adamw(*one, t.astype(jnp.float32)) for one in zip(leaves, jax.tree.leaves(grads), jax.tree.leaves(m), jax.tree.leaves(v))]
        params, m, v = (jax.tree.unflatten(form, column) for column in zip(*moved))
        return (params, state, m, v, t), value
    return step


def main():
    a = argparse.ArgumentParser()
    a.add_argument("model", choices=MODELS)
    a.add_argument("--seconds", type=float, default=3)
    a = a.parse_args()
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    params, state, loss, data = MODELS[a.model]()
    jax.block_until_ready(params)
    before = resident("VmRSS")
    held = {}

    def first():
        zeros = lambda: jax.tree.map(jnp.zeros_like, params)
        held["now"] = (params, state, zeros(), zeros(), jnp.int32(0))
        step = functools.partial(jax.jit, donate_argnums=(0, 1, 2, 3, 4))(step_of(loss, CLIP.get(a.model)))
        held["step"] = step.lower(*held["now"], *data).compile()
        return run()

    def run():
        held["now"], value = held["step"](*held["now"], *data)
        jax.block_until_ready(held["now"])
        return float(value)

    first_ms, value = ms_of(first)
    times, last = timed(run, a.seconds)
    print(json.dumps({"model": a.model, "peer": "jax", "version": jax.__version__, "first_ms": first_ms, "step_ms": times[len(times) // 2],
                      "min_ms": times[0], "n": len(times), "resident_mb": (resident("VmHWM") - before) / 1e6, "loss": value,
                      "finite": math.isfinite(value) and math.isfinite(last)}))


if __name__ == "__main__":
    main()
