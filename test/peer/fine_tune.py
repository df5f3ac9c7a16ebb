#!/usr/bin/env python3
"""`cleave train` of tiny models of transformers beside a loop in PyTorch: the same weights, batches and schedule.

    fine_tune.py CLEAVE

Compares each step's loss (1e-4 relative), rate and norm of the gradients, the held-out loss, and the weights at the end:
the saved folder is loaded by transformers, whose report of names has to be empty. Skipped (77) without them.
"""
import json, math, os, subprocess, sys, tempfile

try:
    import torch, transformers
    from safetensors.torch import load_file, save_file
    from transformers import (BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, ViTConfig, ViTForImageClassification)
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

MASK, GOLDEN = (1 << 64) - 1, 0x9E3779B97F4A7C15
T, B, K, STEPS, WARMUP, LR, FINAL, DECAY, SEED = 16, 4, 2, 20, 3, 2e-3, 1e-4, 0.05, 11


def split_mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def permutation(size, seed, stream):
    """src/data/permutation.h."""
    bits = (size - 1).bit_length() if size > 1 else 1
    half = max(1, (bits + 1) // 2)
    state, keys = split_mix((seed + GOLDEN) & MASK) ^ split_mix(stream * 2 + 1), []
    for _ in range(8):
        state = (state + GOLDEN) & MASK
        keys.append(split_mix(state))

    def once(x):
        left, right = x >> half, x & ((1 << half) - 1)
        for key in keys: left, right = right, left ^ (split_mix((right + key) & MASK) & ((1 << half) - 1))
        return left << half | right

    def at(x):
        x = once(x)
        while x >= size: x = once(x)
        return x
    return [at(k) for k in range(size)]


def masked(ids, stream, vocabulary, mask_id, never):
    """tool/train/masking.h."""
    ids, labels = ids.clone(), torch.full_like(ids, -100)
    key = split_mix((SEED + GOLDEN * (2 * (stream & MASK) + 1)) & MASK)
    draw = lambda place, which: split_mix((key + GOLDEN * (3 * place + which + 1)) & MASK)
    fraction = lambda bits: (bits >> 11) * 2.0**-53
    for row in range(ids.shape[0]):
        places = [(fraction(draw(row * T + t, 0)), t) for t in range(T) if ids[row, t].item() not in never]
        for t in [t for u, t in places if u < 0.15] or [min(places)[1]]:
            labels[row, t] = ids[row, t]
            how = fraction(draw(row * T + t, 1))
            if how < 0.8: ids[row, t] = mask_id
            elif how < 0.9: ids[row, t] = draw(row * T + t, 2) % vocabulary
    return ids, labels


def rate(step):
    if step < WARMUP: return LR * (step + 1) / WARMUP
    return FINAL + (LR - FINAL) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


class Examples:
    """The batches of tool/train/example_data.h."""

    def __init__(self, inputs, labels, alter=None):
        held = max(1, len(inputs) // 10)
        self.inputs, self.labels, self.count, self.alter = inputs, labels, len(inputs) - held, alter

    def of(self, rows, stream):
        x, y = self.inputs[rows], self.labels[rows]
        return self.alter(x, stream) if self.alter else (x, y)

    def train(self, number):
        each = self.count // B
        order = permutation(self.count, SEED, number // each)
        first = number % each * B
        return self.of(order[first:first + B], number)

    def held_out(self):
        for k, first in enumerate(range(self.count, len(self.inputs), B)):
            rows = list(range(first, min(first + B, len(self.inputs))))
            yield self.of(rows, -1 - k)


def run_pytorch(model, examples, loss_of):
    model.train()
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}], lr=LR)
    out = []
    for step in range(STEPS):
        for group in optimizer.param_groups: group["lr"] = rate(step)
        optimizer.zero_grad()
        total = 0
        for k in range(K):
            loss = loss_of(model, *examples.train(step * K + k))
            (loss / K).backward()
            total += loss.item() / K
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        out.append((total, rate(step), norm.item()))
    model.eval()
    with torch.no_grad():
        sums = [(loss_of(model, x, y).item(), (y != -100).sum().item()) for x, y in examples.held_out()]
    return out, sum(l * n for l, n in sums) / sum(n for _, n in sums)


def language(model, ids, labels): return model(input_ids=ids, labels=labels).loss
def images(model, pixels, labels): return model(pixel_values=pixels, labels=labels).loss


def near(what, got, want, tolerance):
    assert abs(got - want) <= tolerance * max(1e-3, abs(want)), f"{what}: {got}, PyTorch has {want}"


def check(cleave, folder, name, model, data, examples, loss_of):
    weights, out = os.path.join(folder, name), os.path.join(folder, name + "_tuned")
    model.save_pretrained(weights)
    args = [cleave, "train", "--weights", weights, "--save", out, *data, "--batch", B, "--accumulate", K, "--steps", STEPS, "--warmup", WARMUP, "--lr", LR,
            "--final-lr", FINAL, "--weight-decay", DECAY, "--seed", SEED, "--threads", 2, "--cache", "off", "--json"]
    if loss_of is language: args += ["--context", T]
    run = subprocess.run([*map(str, args)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loading, *steps, end = [json.loads(l) for l in run.stdout.splitlines()]
    assert loading["missing"] == loading["unexpected"] == [], loading
    want, held_out = run_pytorch(model, examples, loss_of)
    assert len(steps) == STEPS, steps
    for k, (loss, lr, norm) in enumerate(want):
        near(f"{name}: loss of step {k}", steps[k]["loss"], loss, 1e-4)
        near(f"{name}: rate of step {k}", steps[k]["lr"], lr, 1e-9)
        near(f"{name}: gradients of step {k}", steps[k]["grad_norm"], norm, 1e-3)
    near(f"{name}: held-out loss", end["val_loss"], held_out, 1e-4)
    tuned, report = type(model).from_pretrained(out, output_loading_info=True)
    assert not any(report[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    file = load_file(os.path.join(out, "model.safetensors"))
    if name == "vit": assert set(file) == set(load_file(os.path.join(weights, "model.safetensors")))  # other names than in memory
    else: tuned.load_state_dict(file, strict=True)
    # Where a gradient is nearly 0 Adam's direction is rounding's: the distance of all weights counts.
    pairs = [(a.detach(), b.detach()) for a, b in zip(tuned.parameters(), model.parameters(), strict=True)]
    far = math.sqrt(sum(((a - b)**2).sum().item() for a, b in pairs) / sum((b**2).sum().item() for _, b in pairs))
    assert far < 1e-3, f"{name}: weights are {far} apart"
    losses = max(abs(steps[k]["loss"] - want[k][0]) / want[k][0] for k in range(STEPS))
    print(f"{name}: {STEPS} steps of {K} x {B}, loss {want[0][0]:.4f} to {want[-1][0]:.4f}; losses {losses:.1e} apart, weights {far:.1e}")


def main():
    cleave = sys.argv[1]
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    vocabulary = 61
    ids = torch.tensor([(5 + 3 * k + (k * k) % 7) % 54 + 7 for k in range(60 * T)])
    ids[::37] = 2  # [MASK] of the tokenizer below
    windows = ids.view(-1, T)
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    small = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    llama = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=False, **small))
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, n_positions=32, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                      bos_token_id=0, eos_token_id=0))
    bert = BertForMaskedLM(BertConfig(vocab_size=vocabulary, max_position_embeddings=32, **small, **no_dropout))
    vit = ViTForImageClassification(ViTConfig(image_size=8, patch_size=4, num_labels=3, **small, **no_dropout))
    pixels, classes = torch.randn(60, 3, 8, 8), torch.tensor([k % 3 for k in range(60)])
    with tempfile.TemporaryDirectory() as folder:
        tokens, pictures = os.path.join(folder, "ids.u16"), os.path.join(folder, "pictures.safetensors")
        with open(tokens, "wb") as f: f.write(b"".join(int(i).to_bytes(2, "little") for i in ids))
        save_file({"pixel_values": pixels, "labels": classes}, pictures)
        special = ["[CLS]", "[SEP]", "[MASK]", "[UNK]"]
        tokenizer = os.path.join(folder, "tokenizer.json")
        with open(tokenizer, "w") as f:
            json.dump({"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
                       "model": {"type": "WordLevel", "vocab": {w: k for k, w in enumerate([*special, "a"])}, "unk_token": "[UNK]"}}, f)
        data = ["--tokens", tokens]
        causal = Examples(windows, windows)
        check(cleave, folder, "llama", llama, data, causal, language)
        check(cleave, folder, "gpt2", gpt2, data, causal, language)
        check(cleave, folder, "bert", bert, [*data, "--tokenizer", tokenizer], Examples(windows, windows, lambda x, s: masked(x, s, vocabulary, 2, [2])), language)
        check(cleave, folder, "vit", vit, ["--images", pictures], Examples(pixels, classes), images)


main()
