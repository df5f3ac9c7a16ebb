#!/usr/bin/env python3
"""test/peer/pretrained.py PROGRAM [CASE...]: tiny models of transformers, beside cleave's.

PROGRAM is run_pretrained. Each case is a model with random weights that transformers saves. Logits are compared with
transformers' in float32, loss and every gradient with its eager attention in float64. Then what cleave saves is loaded
by from_pretrained and by load_state_dict(strict=True), and has the same bits.

    pretrained.py --write test/pretrained/tiny      writes the files of test/pretrained/reference_test.cpp

Needs PyTorch, transformers and safetensors; exit status 77 without.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    from transformers import (BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM,
                              MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM, ViTConfig,
                              ViTForImageClassification)
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
CASES = {}
SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24)
LLAMA = dict(SMALL, vocab_size=23, max_position_embeddings=32)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 10000.0}


def case(name, cls, config, dtype=torch.float32, shard=None, part=None, file_dtype=None, length=12):
    """shard: bytes of a shard; part: the base model alone is saved; file_dtype: of the file."""
    CASES[name] = dict(cls=cls, config=config, dtype=dtype, shard=shard, part=part, file_dtype=file_dtype,
                       length=length)


def gpt2(**k):
    return GPT2Config(**{**dict(vocab_size=23, n_positions=16, n_embd=16, n_layer=2, n_head=4, bos_token_id=1,
                                eos_token_id=2), **k})


def llama(**k):
    return LlamaConfig(**{**LLAMA, **k})


def mistral(**k):
    return MistralConfig(**{**LLAMA, "num_key_value_heads": 2, **k})


def qwen2(**k):
    return Qwen2Config(**{**LLAMA, "num_key_value_heads": 2, **k})


def bert(**k):
    return BertConfig(**{**SMALL, "vocab_size": 23, "max_position_embeddings": 16, **k})


def vit(**k):
    return ViTConfig(**{**SMALL, "image_size": 8, "patch_size": 4, "num_channels": 2, "num_labels": 5, **k})


case("gpt2", GPT2LMHeadModel, gpt2())
case("gpt2_sharded", GPT2LMHeadModel, gpt2(), shard=4000)
case("gpt2_untied", GPT2LMHeadModel, gpt2(tie_word_embeddings=False, n_inner=40, activation_function="relu"))
case("gpt2_scaled", GPT2LMHeadModel, gpt2(scale_attn_by_inverse_layer_idx=True, activation_function="gelu"))
case("gpt2_unscaled", GPT2LMHeadModel, gpt2(scale_attn_weights=False, layer_norm_epsilon=1e-3), length=16)
case("gpt2_base", GPT2LMHeadModel, gpt2(), part="transformer")
case("gpt2_f16", GPT2LMHeadModel, gpt2(), file_dtype=torch.float16)
case("gpt2_f64", GPT2LMHeadModel, gpt2(), dtype=torch.float64)
case("llama", LlamaForCausalLM, llama())
case("llama_gqa", LlamaForCausalLM, llama(num_key_value_heads=2, rope_parameters=LLAMA3), length=30)
case("llama_mqa_tied", LlamaForCausalLM, llama(num_key_value_heads=1, tie_word_embeddings=True, rms_norm_eps=1e-5))
case("llama_biases", LlamaForCausalLM, llama(attention_bias=True, mlp_bias=True, head_dim=6, hidden_act="gelu"))
case("llama_theta", LlamaForCausalLM, llama(rope_parameters={"rope_type": "default", "rope_theta": 500000.0}))
case("llama_linear", LlamaForCausalLM, llama(rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}))
case("llama_long", LlamaForCausalLM, llama(hidden_size=128, num_attention_heads=2, max_position_embeddings=2048,
                                           rope_parameters={**LLAMA3, "rope_theta": 5e5,
                                                            "original_max_position_embeddings": 256}), length=600)
case("llama_padding", LlamaForCausalLM, llama(pad_token_id=3, tie_word_embeddings=True))
case("llama_bf16", LlamaForCausalLM, llama(num_key_value_heads=2), file_dtype=torch.bfloat16, shard=3000)
case("llama_base", LlamaForCausalLM, llama(), part="model")
case("mistral", MistralForCausalLM, mistral(sliding_window=None))
case("mistral_window", MistralForCausalLM, mistral(sliding_window=5, head_dim=8))
case("qwen2", Qwen2ForCausalLM, qwen2(tie_word_embeddings=True))
case("qwen2_window", Qwen2ForCausalLM, qwen2(use_sliding_window=True, sliding_window=4, max_window_layers=1))
case("bert", BertForMaskedLM, bert())
case("bert_untied", BertForMaskedLM, bert(tie_word_embeddings=False, hidden_act="relu", layer_norm_eps=1e-5))
case("bert_padding", BertForMaskedLM, bert(pad_token_id=5, type_vocab_size=1, hidden_act="gelu_new"), length=16)
case("bert_base", BertForMaskedLM, bert(), part="bert", shard=5000)
case("bert_f16", BertForMaskedLM, bert(), file_dtype=torch.float16)
case("vit", ViTForImageClassification, vit())
case("vit_oblong", ViTForImageClassification, vit(image_size=(8, 12), patch_size=(2, 4), qkv_bias=False))
case("vit_binary", ViTForImageClassification, vit(num_labels=2, hidden_act="quick_gelu"), shard=3000)


def randomized(model):
    """Weights that matter: also of norms and biases, and large enough for attention that isn't flat."""
    generator = torch.Generator().manual_seed(7)
    deviation = 1.2 / model.config.hidden_size**0.5
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            is_norm = p.dim() == 1 and name.endswith("weight")
            p.copy_(1 + 0.1 * noise if is_norm else deviation * noise)
    return model


def batch_of(c):
    generator = torch.Generator().manual_seed(3)
    config = c["config"]
    if config.model_type == "vit":
        size = config.image_size if isinstance(config.image_size, (list, tuple)) else (config.image_size,) * 2
        return {"input": torch.randn(3, config.num_channels, *size, generator=generator),
                "labels": torch.randint(0, config.num_labels, (3,), generator=generator)}
    ids = torch.randint(0, config.vocab_size, (2, c["length"]), generator=generator)
    labels = torch.randint(0, config.vocab_size, ids.shape, generator=generator)
    labels = ids.clone() if config.model_type != "bert" else labels
    labels[:, 1::3] = -100
    return {"input": ids, "labels": labels}


def reference(c, folder, batch, dtype, attention):
    """logits, loss and gradients, of a model without dropout."""
    model = c["cls"].from_pretrained(folder, dtype=dtype, attn_implementation=attention).eval()
    x = batch["input"]
    out = model(x.to(dtype) if x.is_floating_point() else x, labels=batch["labels"])
    out.loss.backward()
    grads = {"grad." + n: p.grad if p.grad is not None else torch.zeros_like(p) for n, p in model.named_parameters()}
    return {"logits": out.logits.detach(), "loss": out.loss.detach(), **grads}, model


VIT_PARTS = [("attention.q_proj.", "attention.attention.query."), ("attention.k_proj.", "attention.attention.key."),
             ("attention.v_proj.", "attention.attention.value."), ("attention.o_proj.", "attention.output.dense."),
             ("mlp.fc1.", "intermediate.dense."), ("mlp.fc2.", "output.dense.")]


def file_name(name):
    """ViT's modules have other names in transformers 5 than in its files."""
    if "vit.layers." in name:
        name = name.replace("vit.layers.", "vit.encoder.layer.")
        for own, file in VIT_PARTS:
            name = name.replace(own, file)
    return name


def saved_tensors(folder):
    out = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        tensors = load_file(path)
        assert not set(tensors) & set(out), "a tensor is in two shards"
        out.update(tensors)
    return out


def distance(got, want):
    assert got.shape == want.shape, (got.shape, want.shape)
    scale = want.double().abs().max().item()
    return (got.double() - want.double()).abs().max().item() / (scale or 1)


def save_model(c, folder):
    model = randomized(c["cls"](c["config"]))
    if c["part"]:  # the head of the reference is what it was
        getattr(model, c["part"]).save_pretrained(folder)
    else:
        options = {"max_shard_size": c["shard"]} if c["shard"] else {}
        (model.to(c["file_dtype"]) if c["file_dtype"] else model).save_pretrained(folder, **options)
    return model


def check_saved(c, saved, model):
    """What cleave saved is what `model` has, to the bit."""
    again, info = c["cls"].from_pretrained(saved, output_loading_info=True)
    problems = {k: v for k, v in info.items() if v}
    assert not problems, problems
    want = model.state_dict()
    for name, t in again.state_dict().items():
        assert torch.equal(t, want[name].to(t.dtype)), name
    tensors = saved_tensors(saved)
    by_file = {file_name(n): n for n in want}
    assert set(tensors) == set(by_file), set(tensors) ^ set(by_file)
    strict = c["cls"](transformers.AutoConfig.from_pretrained(saved))
    strict.load_state_dict({by_file[n]: t for n, t in tensors.items()}, strict=True)
    index = os.path.join(saved, "model.safetensors.index.json")
    if os.path.exists(index):
        listed = json.load(open(index))["weight_map"]
        assert set(listed) == set(tensors)


def check_config(c, saved):
    ignored = {"architectures", "transformers_version", "dtype", "torch_dtype", "_name_or_path"}
    own = c["config"].to_dict()
    for name, value in transformers.AutoConfig.from_pretrained(saved).to_dict().items():
        assert name in ignored or own[name] == value, (name, own[name], value)
    text = json.load(open(os.path.join(saved, "config.json")))
    assert text["architectures"] == [c["cls"].__name__], text["architectures"]


def run_case(program, c, folder):
    batch = batch_of(c)
    weights, out = os.path.join(folder, "model"), os.path.join(folder, "out")
    os.makedirs(out)
    model = save_model(c, weights)
    batch_path = os.path.join(folder, "batch.safetensors")
    save_file(batch, batch_path)
    name = {torch.float32: "f32", torch.float64: "f64"}[c["dtype"]]
    command = [program, weights, weights, batch_path, out, str(c["shard"] or 1 << 40), name]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    saved = os.path.join(out, "saved")
    assert not report["extra"], report["extra"]
    if c["part"]:  # what the file lacks is the head, which cleave drew
        assert all(not n.startswith(c["part"]) for n in report["missing"]), report["missing"]
        own = saved_tensors(saved)
        for n, t in saved_tensors(weights).items():
            assert torch.equal(own[c["part"] + "." + n], t), n
        weights = saved
    else:
        assert not report["missing"], report["missing"]
    got = load_file(os.path.join(out, "results.safetensors"))
    plain, model = reference(c, weights, batch, c["dtype"], "sdpa")
    exact, _ = reference(c, weights, batch, torch.float64, "eager")
    plain_distance = distance(got["logits"], plain["logits"])
    exact = {("grad." + file_name(n[5:])) if n.startswith("grad.") else n: t for n, t in exact.items()}
    assert set(got) == set(exact), set(got) ^ set(exact)
    # Parts of its largest element; of the largest gradient's where it is 0 but for rounding (of a key's bias).
    largest = max(t.abs().max().item() for n, t in exact.items() if n.startswith("grad."))
    worst = ("", 0.0)
    for n, t in exact.items():
        own = t.abs().max().item()
        d = (got[n].double() - t).abs().max().item() / (own if own > 1e-6 * largest else largest)
        worst = max(worst, (n, d), key=lambda w: w[1])
    check_saved(c, saved, model)
    check_config(c, saved)
    return plain_distance, worst


def write(folder):
    """Files of the C++ test, of the first case of each model."""
    for name in ("gpt2", "llama_gqa", "mistral_window", "qwen2", "bert", "vit"):
        c, into = CASES[name], os.path.join(folder, name)
        shutil.rmtree(into, ignore_errors=True)
        save_model(c, into)
        for path in glob.glob(os.path.join(into, "generation_config.json")):
            os.remove(path)
        batch = batch_of(c)
        results, _ = reference(c, into, batch, torch.float64, "eager")
        results = {n: t.float() for n, t in results.items() if n in ("logits", "loss")}
        save_file({**batch, **results}, os.path.join(into, "reference.safetensors"))


def main():
    if sys.argv[1] == "--write":
        return write(sys.argv[2])
    failed = 0
    print(f"{'case':16} {'logits':>9} {'gradients':>9}  farthest")
    for name in sys.argv[2:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                logits, (worst, d) = run_case(sys.argv[1], CASES[name], folder)
            except Exception as e:  # the other cases still run
                print(f"{name:16} {type(e).__name__}: {e}")
                failed += 1
                continue
        wrong = "" if logits <= 1e-5 and d <= 1e-4 else "  WRONG"
        failed += bool(wrong)
        print(f"{name:16} {logits:9.1e} {d:9.1e}  {worst}{wrong}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
