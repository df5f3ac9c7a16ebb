#!/usr/bin/env python3
"""cleave train with a model of transformers: data, resuming, signals, what it says and saves.

    python3 test/tool/fine_tune_test.py CLEAVE_BINARY
"""
import json, os, random, signal, struct, subprocess, unittest, xml.dom.minidom

from command_case import CLEAVE, Case, cleave, contents, losses, targeted

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = ["<end>", "<unk>", "[CLS]", "[SEP]", "[MASK]"] + [f"w{k}" for k in range(35)]
GPT2 = {"model_type": "gpt2", "vocab_size": 40, "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
        "attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
LLAMA = {"model_type": "llama", "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "bos_token_id": 0, "eos_token_id": [0, 1]}
BERT = {"model_type": "bert", "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
        "max_position_embeddings": 24, "type_vocab_size": 2, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
VIT = {"model_type": "vit", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 8, "patch_size": 4,
       "num_channels": 3, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "id2label": {"0": "a", "1": "b", "2": "c"}}


def tokenizer(words=WORDS, template=False):
    special = [w for w in words[:5] if w in WORDS]
    around = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                                      {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
              "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
              "special_tokens": {w: {"id": w, "ids": [words.index(w)], "tokens": [w]} for w in ("[CLS]", "[SEP]")}}
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
            "added_tokens": [{"id": words.index(w), "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                             for w in special],
            "post_processor": around if template else None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": {w: k for k, w in enumerate(words)}, "unk_token": "<unk>"}}


def safetensors(tensors):
    """The bytes of a file: name to (dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def records(result): return [json.loads(l) for l in result.stdout.splitlines()]


class FineTune(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        # Words that follow each other in a pattern, so that there is something to learn.
        self.ids = [5 + (7 * k // 2 + rng.randrange(3)) % 35 for k in range(2600)]
        self.words = self.file("words.txt", "".join(WORDS[i] + ("\n" if k % 11 == 10 else " ") for k, i in enumerate(self.ids)))
        self.model = self.folder_of("model", GPT2, tokenizer())

    def folder_of(self, name, config, tokens=None):
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        for file, value in (("config.json", config), ("tokenizer.json", tokens)):
            if value is not None:
                with open(os.path.join(folder, file), "w") as f: json.dump(value, f)
        return folder

    def train(self, *args, model=None, **kw):
        return cleave("train", "--config", model or self.model, *(() if "--context" in args else ("--context", 16)), "--batch", 3, "--lr", "0.01", "--json", *args, **kw)

    def ok(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def saved(self, *args, **kw):
        out = self.path("saved")
        self.ok(self.train("--text", self.words, "--steps", 4, "--save", out, *args, **kw))
        return out

    def test_it_learns_and_says_how(self):
        run = self.ok(self.train("--text", self.words, "--steps", 60, "--eval-every", 20, "--loss-svg", self.path("l.svg"), "--threads", 1))
        steps = [r for r in records(run) if "loss" in r]
        self.assertEqual([r["step"] for r in steps], list(range(60)))
        for r in steps: self.assertEqual(set(r), {"step", "loss", "tokens_per_s", "lr", "grad_norm", "tokens", "seconds"})
        self.assertLess(steps[-1]["loss"], steps[0]["loss"] - 0.5)
        self.assertEqual((steps[9]["tokens"], steps[5]["lr"]), (480, 0.01))
        self.assertGreater(steps[0]["grad_norm"], 0)
        between = [r for r in records(run) if "val_loss" in r][:-1]
        self.assertEqual([(r["step"], set(r)) for r in between], [(19, {"step", "val_loss"}), (39, {"step", "val_loss"})])
        last = records(run)[-1]
        self.assertLess(last["val_loss"], between[0]["val_loss"])
        self.assertEqual((last["peak_bytes"], last["allocations_per_step"], last["tokens"]), (last["planned_peak_bytes"], 0, 60 * 48))
        picture = xml.dom.minidom.parse(self.path("l.svg"))
        self.assertEqual([len(p.getAttribute("points").split()) for p in picture.getElementsByTagName("polyline")], [60, 3])
        self.assertEqual(losses(run), losses(self.train("--text", self.words, "--steps", 60, "--threads", 2)))
        people = self.ok(cleave("train", "--config", self.model, "--text", self.words, "--context", 16, "--steps", 3, "--every", 1, "--sample", 6, "--save", self.path("s")))
        for part in ("2,601 tokens", "146 windows of 16 to learn from, 16 held out", "model    gpt2, vocabulary 40, context 16", "step      2  loss", "lr ", " tokens/s",
                     "validation loss", "memory   planned peak"): self.assertIn(part, people.stdout)
        self.assertIn(f"model: {self.path('s')}", people.stderr)
        self.assertEqual(len(people.stdout.rstrip("\n").rsplit("\n\n", 1)[1].split()), 6)

    def test_all_kinds_of_data_are_one_stream_of_tokens(self):
        stream = self.ids + [0]
        text = losses(self.ok(self.train("--text", self.words, "--steps", 5)))
        self.assertEqual(len(text), 5)
        u16 = self.file("t.u16", struct.pack(f"<{len(stream)}H", *stream))
        i32 = self.file("t.i32", struct.pack(f"<{len(stream)}i", *stream))
        line = self.file("one.jsonl", "\n" + json.dumps({"text": contents(self.words).decode()}) + "\n\n")
        for data in (("--tokens", u16), ("--tokens", i32, "--token-dtype", "i32"), ("--jsonl", line)):
            self.assertEqual(losses(self.ok(self.train(*data, "--steps", 5))), text)
        # Numbers beyond 65535 don't fit two bytes.
        large = self.folder_of("large", {**GPT2, "vocab_size": 65537, "n_embd": 4, "n_layer": 1})
        tokens = self.file("large.i32", struct.pack(f"<{64}i", *[65536] * 64))
        self.assertEqual(len(losses(self.ok(self.train("--tokens", tokens, "--steps", 1, "--held-out", tokens, model=large)))), 1)
        # Two documents have the end of text between them; --separator names another token.
        cut = [self.ids[:1000], self.ids[1000:]]
        lines = self.file("two.jsonl", "\r\n".join(json.dumps({"id": 1, "body": " ".join(WORDS[i] for i in d)}) for d in cut))
        for separator, args in ((0, ()), (1, ("--separator", "<unk>"))):
            two = cut[0] + [separator] + cut[1] + [separator]
            tokens = self.file("two.u16", struct.pack(f"<{len(two)}H", *two))
            want = losses(self.ok(self.train("--tokens", tokens, "--steps", 5)))
            self.assertEqual(losses(self.ok(self.train("--jsonl", lines, "--field", "body", "--steps", 5, *args))), want)

    def test_stdin_graphs_and_traces(self):
        want = losses(self.ok(self.train("--text", self.words, "--steps", 3)))
        graph, trace = self.path("g.clv"), self.path("t.json")
        read = self.ok(self.train("--text", "-", "--steps", 3, "--save-graph", graph, "--trace", trace, stdin=contents(self.words).decode()))
        self.assertEqual(losses(read), want)
        self.ok(cleave("check", graph))
        with open(trace) as f: self.assertIn("step 2", f.read())
        self.refused(self.train("--text", "-", "--held-out", "-", "--steps", 1, stdin="w1"), 1, "both stdin")

    def test_a_text_is_read_in_pieces(self):
        """Longer than a piece of 1 MiB: the tokens are those of the whole."""
        many = self.ids * 300
        text = self.file("long.txt", "".join(WORDS[i] + ("\n" if k % 9 == 8 else " ") for k, i in enumerate(many)))
        self.assertGreater(os.path.getsize(text), 2 << 20)
        template = self.folder_of("template", GPT2, tokenizer(template=True))
        for model, stream in ((self.model, [*many, 0]), (template, [2, *many, 3])):
            tokens = self.file("long.u16", struct.pack(f"<{len(stream)}H", *stream))
            a, b = (losses(self.ok(self.train(*data, "--steps", 3, model=model))) for data in (("--text", text), ("--tokens", tokens)))
            self.assertEqual(a, b)

    def test_budget_and_mixed_precision(self):
        run = ("--text", self.words, "--steps", 6, "--accumulate", 2)
        plain, tight, mixed = (self.ok(self.train(*run, *more)) for more in ((), ("--budget", "90%"), ("--autocast", "bf16")))
        self.assertEqual(losses(tight), losses(plain))
        peaks = [records(r)[-1]["planned_peak_bytes"] for r in (plain, tight)]
        self.assertLess(peaks[1], peaks[0])
        self.assertEqual(records(tight)[-1]["peak_bytes"], peaks[1])
        self.assertNotEqual(losses(mixed), losses(plain))
        for a, b in zip(losses(mixed), losses(plain), strict=True): self.assertLess(abs(a - b), 0.02 * b)

    def test_steps_that_f16_skips_count_in_the_order_of_the_data(self):
        run = ("--text", self.words, "--steps", 14, "--accumulate", 2, "--autocast", "f16", "--init-scale", 2**36)
        whole, half = self.ok(self.train(*run)), self.path("half.safetensors")
        self.ok(self.train("--text", self.words, "--steps", 4, *run[4:], "--schedule", "constant", "--warmup", 0, "--out", half))
        self.assertGreater(records(whole)[-1]["skipped_steps"], 4)
        resumed = [r for r in records(self.ok(self.train(*run, "--resume", half))) if "loss" in r]
        keys = ("step", "loss", "loss_scale", "skipped_steps", "lr", "tokens")
        self.assertEqual([[r[k] for k in keys] for r in resumed], [[r[k] for k in keys] for r in records(whole)[4:-1]])

    def test_held_out_file_and_epochs(self):
        whole = self.ok(self.train("--text", self.words, "--epochs", 1, "--held-out", self.words))
        self.assertEqual(len(losses(whole)), 2601 // 16 // 3)
        self.assertEqual(len(losses(self.ok(self.train("--text", self.words, "--epochs", 1.5, "--accumulate", 2)))), round(1.5 * (146 // 3) / 2))
        # An untrained model guesses one of 40.
        zero = records(self.ok(self.train("--text", self.words, "--steps", 0, "--held-out", self.words)))
        self.assertAlmostEqual(zero[-1]["val_loss"], 3.689, delta=0.1)

    def test_resumed_run_repeats_the_losses_bit_for_bit(self):
        run = ["--text", self.words, "--steps", 120, "--dropout", 0.1, "--accumulate", 3]
        whole = self.ok(self.train(*run, "--out", self.path("whole.safetensors")))
        self.assertEqual(len(losses(whole)), 120)
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            half, folder = self.path("half.safetensors"), self.path(f"m{status}")
            done = self.interrupt(number, status, 5, "--out", half, "--save", folder, *run)
            self.assertTrue(os.path.exists(os.path.join(folder, "tokenizer.json")))
            resumed = self.ok(self.train(*run, "--resume", half, "--out", half))
            self.assertEqual(losses(resumed), losses(whole)[done:])
            self.assertEqual(records(resumed)[-1]["val_loss"], records(whole)[-1]["val_loss"])
            self.assertEqual(contents(half), contents(self.path("whole.safetensors")))
        for wrong, part in ((run[:-2], "--accumulate 3"), ([*run, "--seed", 1], "--seed 0"), ([*run, "--context", 8], "--context 16"), ([*run[:4], *run[6:]], "--dropout 0.1")):
            self.refused(self.train(*wrong, "--resume", half), 1, half, part)
        other = self.file("other.txt", "w1 w2 w3 " * 1000)
        self.refused(self.train(*run[2:], "--text", other, "--resume", half), 1, "other data")
        self.refused(cleave("train", "--text", self.text, "--steps", 1, "--resume", half), 1, "not a checkpoint of `cleave train`")

    def test_a_signal_is_heeded_between_held_out_batches(self):
        """Nearly all of the time goes into validation; what is saved is resumed as any other."""
        run, half = ["--text", self.words, "--held-out", self.words, "--steps", 60, "--eval-every", 1], self.path("half.safetensors")
        args = targeted(["train", "--config", self.model, "--context", "16", "--batch", "3", "--lr", "0.01", "--json", "--out", half, *map(str, run)])
        with subprocess.Popen([CLEAVE, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096) as p:
            for _ in range(4): p.stdout.readline()
            p.send_signal(signal.SIGTERM)
            p.stdout.read()
            self.assertIn("interrupted after", p.stderr.read())
        self.assertEqual(p.returncode, 143)
        whole, resumed = self.ok(self.train(*run)), self.ok(self.train(*run, "--resume", half))
        self.assertLess(len(losses(resumed)), 60)
        self.assertEqual(losses(resumed), losses(whole)[-len(losses(resumed)):])

    def interrupt(self, number, status, lines, *run):
        args = targeted(["train", "--config", self.model, "--context", "16", "--batch", "3", "--lr", "0.01", "--json", *map(str, run)])
        with subprocess.Popen([CLEAVE, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096) as p:
            seen = [p.stdout.readline() for _ in range(lines)]
            p.send_signal(number)
            seen += [l for l in p.stdout if '"loss"' in l]
            err = p.stderr.read()
        self.assertEqual(p.returncode, status, err)
        self.assertIn(f"interrupted after {len(seen)} steps", err)
        self.assertLess(len(seen), 120)
        return len(seen)

    def test_a_saved_model_is_loaded_again(self):
        for name, config in (("gpt2", GPT2), ("llama", LLAMA)):
            folder = self.folder_of(name, config, tokenizer())
            out = self.path("out_" + name)
            end = records(self.ok(self.train("--text", self.words, "--steps", 4, "--save", out, model=folder)))[-1]
            for weights in (out, os.path.join(out, "model.safetensors")):
                again = records(self.ok(cleave("train", "--weights", weights, "--text", self.words, "--context", 16, "--batch", 3, "--steps", 0, "--json")))
                self.assertEqual(again[0]["missing"] + again[0]["unexpected"], [])
                self.assertEqual(again[-1]["val_loss"], end["val_loss"])
            self.assertEqual(sorted(os.listdir(out)), ["config.json", "model.safetensors", "tokenizer.json"])

    def test_missing_and_unexpected_names_are_listed(self):
        data = contents(os.path.join(self.saved(), "model.safetensors"))
        name, other = b"h.1.ln_2.weight", b"h.1.ln_2.height"
        self.assertEqual(data.count(name), 1)
        changed = self.file("changed.safetensors", data.replace(name, other))
        args = ("--config", self.model, "--weights", changed, "--text", self.words, "--context", 16, "--steps", 0)
        report = records(self.ok(cleave("train", *args, "--json")))[0]
        self.assertEqual([[n.split("h.1.")[1] for n in report[k]] for k in ("missing", "unexpected")], [["ln_2.weight"], ["ln_2.height"]])
        self.assertGreater(report["loaded"], 20)
        said = self.ok(cleave("train", *args)).stderr
        for part in ("missing in", "h.1.ln_2.weight keeps its initial values", "unexpected in", "h.1.ln_2.height is not the model's"): self.assertIn(part, said)
        nothing = self.file("nothing.safetensors", safetensors({"x": ("F32", [1], b"\0\0\0\0")}))
        self.refused(cleave("train", "--config", self.model, "--weights", nothing, "--text", self.words, "--context", 16), 1, "none of its 1 tensors")

    def test_bert_guesses_masked_tokens(self):
        folder = self.folder_of("bert", BERT, tokenizer(template=True))
        run = ("--text", self.words, "--steps", 40, "--dropout", 0)
        a, b = (self.ok(self.train(*run, "--masked", p, model=folder)) for p in (0.15, 0.5))
        self.assertLess(sum(losses(a)[-5:]), sum(losses(a)[:5]) - 1)
        self.assertNotEqual(losses(a), losses(b))
        self.assertEqual(losses(a), losses(self.train(*run, model=folder)))
        self.refused(self.train(*run, "--masked", 0.1), 1, "--masked", "gpt2")
        self.refused(self.train(*run, "--sample", 3, model=folder), 1, "--sample")
        unmasked = self.folder_of("unmasked", {**BERT, "vocab_size": 39}, tokenizer([w for w in WORDS if w != "[MASK]"], template=True))
        self.refused(self.train(*run, model=unmasked), 1, "[MASK]")

    def images(self, rows=40, size=8):
        rng = random.Random(5)
        labels = [k % 3 for k in range(rows)]
        pixels = [rng.gauss(label - 1, 0.3) for label in labels for _ in range(3 * size * size)]
        return self.file(f"images{rows}.safetensors", safetensors({"pixel_values": ("F32", [rows, 3, size, size], struct.pack(f"<{len(pixels)}f", *pixels)),
                                                                   "labels": ("I64", [rows], struct.pack(f"<{rows}q", *labels))}))

    def test_vit_learns_classes(self):
        images, folder = self.images(), self.folder_of("vit", VIT)
        run = records(self.ok(cleave("train", "--config", folder, "--images", images, "--batch", 6, "--lr", 0.01, "--steps", 40, "--json", "--save", self.path("v"))))
        self.assertEqual(set(run[0]), {"step", "loss", "images_per_s", "lr", "grad_norm", "images", "seconds"})
        self.assertEqual(run[9]["images"], 60)
        self.assertLess(run[-2]["loss"], 0.3 * run[0]["loss"])
        self.assertLess(run[-1]["val_loss"], 0.5)
        for args, part in ((("--images", self.images(9, 4)), "f32[3,4,4], the model takes f32[3,8,8]"),
                           (("--text", self.words), "expected --images"), (("--images", images, "--context", 4), "--context"),
                           (("--images", images, "--batch", 100), "--batch 100 needs at least 100"), (("--images", self.file("none.safetensors", safetensors({}))), "pixel_values")):
            self.refused(cleave("train", "--config", folder, *args), 1, part)
        self.refused(self.train("--images", images), 1, "gpt2 is a language model")

    def test_errors_say_what_to_do(self):
        bare = self.folder_of("bare", GPT2)
        wide = self.folder_of("wide", {**GPT2, "vocab_size": 39}, tokenizer())
        endless = self.folder_of("endless", {k: v for k, v in GPT2.items() if k != "eos_token_id"} | {"eos_token_id": None}, tokenizer())
        text, few = ("--text", self.words), self.file("few.txt", "w1 w2 w3")
        bad = self.file("bad.jsonl", '{"text": "w1"}\n\n{"text": "w2"\n')
        cases = [(text, bare, "no tokenizer.json", "--tokenizer"), (text, wide, "40 tokens", "vocabulary of 39"),
                 ((*text, "--context", 33), None, "--context 33", "32 positions"), ((*text, "--context", 1), None, "--context 1", "at least 2"),
                 (("--jsonl", bad), None, "bad.jsonl:3: not JSON"),
                 (("--jsonl", self.file("l.jsonl", '{"text": "w1"}\n[1]\n')), None, "l.jsonl:2: expected an object"),
                 (("--jsonl", self.file("f.jsonl", '{"body": "w1"}\n')), None, 'f.jsonl:1: there is no field "text"; --field'),
                 (("--jsonl", self.file("n.jsonl", '{"text": 7}\n')), None, 'n.jsonl:1: the field "text" is no text'),
                 (("--jsonl", self.file("u.jsonl", b'{"text": "\xff"}\n')), None, "u.jsonl:1: not JSON"),
                 (("--jsonl", self.file("e.jsonl", "")), None, "e.jsonl: the file is empty"),
                 (("--jsonl", self.file("s.jsonl", '{"text": "w1"}\n')), endless, "--separator"),
                 ((*text, "--separator", "<none>"), None, "--separator <none>", "no such token"),
                 (("--text", few), None, "4 tokens", "0 windows of 16", "--context or --batch"), ((*text, "--held-out", few), None, "--held-out", "4 tokens"),
                 (("--text", self.file("b.txt", b"w1\0w2")), None, "byte 2 is 0"), (("--text", self.file("x.txt", b"w1 \xff\xfe w2")), None, "isn't UTF-8"),
                 (("--text", self.file("empty.txt", "")), None, "empty"), (("--text", self.path("absent")), None, "absent"), (("--text", self.model), None, "cannot be read"),
                 (("--tokens", self.file("big.u16", struct.pack("<80H", *[3] * 79, 40))), None, "token 79 is 40", "[0, 40)"),
                 (("--tokens", self.file("odd.u16", b"abc")), None, "3 bytes"),
                 (("--tokens", self.file("i32.bin", struct.pack("<80i", *[3] * 80))), None, "--token-dtype i32"),
                 ((*text, "--token-dtype", "u16"), None, "--token-dtype"), (("--tokens", few, "--token-dtype", "f32"), None, "--token-dtype f32"),
                 ((), None, "no data"), ((*text, "--jsonl", bad), None, "--text and --jsonl"), ((*text, "--field", "x"), None, "--field"),
                 ((*text, "--layers", 2), None, "--layers"), ((*text, "--epochs", 1, "--steps", 3), None, "--epochs and --steps"), ((*text, "--epochs", 0), None, "--epochs 0"),
                 ((*text, "--accumulate", 0), None, "--accumulate 0"), ((*text, "--eval-every", -1), None, "--eval-every"), ((*text, "--masked", 1.5), None, "--masked 1.5"),
                 ((*text, "--save", self.model), None, "which would be lost"), ((*text, "--loss-svg", self.path("no/l.svg")), None, "no/l.svg"),
                 ((*text, "--save", self.words), None, "words.txt"), ((*text, "--sample", 3), bare, "no tokenizer.json"), ((*text, "--model", "bert"), None, "bert")]
        for args, model, *parts in cases:
            with self.subTest(args=args):
                result = self.train(*args, *(() if "--epochs" in args else ("--steps", 1)), model=model)
                self.assertIn(result.returncode, (1, 2), result.stderr)
                self.refused(result, result.returncode, *parts)
                self.assertEqual(result.stdout, "")
        self.refused(cleave("train", "--model", "gpt2", *text), 1, "--model gpt2 needs --config")
        self.refused(cleave("train", "--weights", self.words, *text), 1, "no config.json beside it")
        self.refused(cleave("train", "--config", self.folder.name, *text), 1, "no config.json")
        self.refused(cleave("train"), 1, "--text is required")
        for option in ("--jsonl", "--tokens", "--images", "--save", "--tokenizer", "--held-out", "--separator", "--field"):
            self.refused(cleave("train", "--text", self.text, option, few), 1, option, "needs a model")

    def test_the_lines_of_the_page(self):
        with open(os.path.join(ROOT, "doc", "fine_tune.md")) as f: lines = f.read().split("```sh\n")[1].split("```")[0].splitlines()
        self.assertEqual(len(lines), 3)
        for name, config, tokens in (("gpt2", GPT2, tokenizer()), ("bert", BERT, tokenizer(template=True)), ("vit", VIT, None)):
            data = ("--images", self.images()) if name == "vit" else ("--text", self.words)
            self.ok(cleave("train", "--config", self.folder_of(name, config, tokens), *data, "--steps", 0, "--save", self.path("made")))
            for file in os.listdir(self.path("made")): os.replace(os.path.join(self.path("made"), file), os.path.join(self.path(name), file))
        os.replace(self.words, self.path("book.txt"))
        os.replace(self.images(), self.path("pictures.safetensors"))
        self.file("notes.jsonl", "".join(json.dumps({"text": " ".join(WORDS[i] for i in self.ids[k:k + 50])}) + "\n" for k in range(0, 2500, 50)))
        for line in lines:
            self.assertTrue(line.startswith("cleave "))
            self.ok(cleave(*line.split()[1:], cwd=self.folder.name))
            self.assertTrue(os.path.exists(self.path(os.path.join(line.split()[-1], "model.safetensors"))))

    def test_weights_of_pytorch_are_refused_with_the_way_out(self):
        for name in ("pytorch_model.bin", "w.pt"):
            self.refused(self.train("--weights", self.file(name, b"PK\3\4" + b"\0" * 50), "--text", self.words), 1, name, "safetensors")


if __name__ == "__main__":
    unittest.main()
