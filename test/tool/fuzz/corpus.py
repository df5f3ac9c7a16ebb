"""Files that commands are given: real ones of each kind, odd ones, and real ones spoilt.

    Corpus(cleave, folder, root)     makes them in `folder`, from the goldens and seeds under `root`
        .real(kind, random)          a path; kinds: graph tensors remat buffers text kernels rule config tokenizer jsonl
        .odd(random)                 empty, noise, a folder, missing, a link in a circle, ...
        .spoilt(kind, random, into)  a real one cut short, with bytes, numbers or lines changed
"""
import glob, json, os, re, struct, subprocess

BIG = ["9" * 30, str(2**63), str(2**63 - 1), str(2**31), "-1", "0", "1e999", "4294967296", "nan", "65", "4097"]
GRAPHS = {
    "mlp": "graph @main(%w: param f32[3,4] grad, %b: param f32[3] grad, %x: input f32[2,4]) {\n  %t = permute(%w; dims=[1,0])\n"
           "  %y = addmm(%b, %x, %t)\n  %z = relu(%y)\n  return %z\n}\n",
    "reductions": "graph @main(%x: input f32[5,70,33] grad) {\n  %a = amax(%x; dim=[1])\n  %s = sum(%x; dim=[0,2])\n  %m = mean(%x; dim=[])\n"
                  "  return %a, %s, %m\n}\n",
    "sizes": "graph @main(%s0: symint range(2,4096) hint(8), %x: input f32[s0,4] grad) {\n  %y = sin(%x)\n  %r = view(%y; size=[s0*4])\n  return %r\n}\n",
    "random": "graph @main(%x: input f32[8,8] grad, %rng: rng_state i64[2]) {\n  %d, %mask = native_dropout(%x, %rng; p=0.5, train=true, stream=3)\n"
              "  %n = rng_next(%rng)\n  return %d, %n -> %rng\n}\n",
    "tags": "graph @main(%x: input f32[8,8] grad, %w: param f32[8,8] grad) {\n  %a = mm(%x, %w) !recompute(must_recompute, ac=1)\n"
            "  %b = sin(%a) !recompute(must_save)\n  %c = mm(%b, %w) !recompute(prefer_recompute, ac=2)\n  %d = cos(%c)\n  return %d\n}\n",
    "cond": "graph @up(%a: input f32[4]) {\n  %r = sin(%a)\n  return %r\n}\ngraph @same(%a: input f32[4]) {\n  %r = cos(%a)\n  return %r\n}\n"
            "graph @main(%p: input bool[], %x: input f32[4] grad) {\n  %y = cond(%p, [%x]; then=@up, otherwise=@same)\n  return %y\n}\n",
    "collective": "graph @main(%x: input f32[4] grad) {\n  %a = sin(%x)\n  %c = all_reduce(%a; reduce_op=\"sum\", group_name=\"tp\")\n"
                  "  %w = wait_tensor(%c)\n  %y = sin(%w)\n  return %y\n}\n",
    "effect": "graph @main(%x: input f32[4] grad) {\n  %a = opaque(%x)\n  %y = cumsum(%a; dim=0)\n  return %y\n}\n",
    "no gradient": "graph @main(%x: input f32[4], %t: tangent f32[4]) {\n  %y = sin(%x)\n  return %y\n}\n",
    "updates": "graph @main(%x: input f32[4], %m: buffer f32[4]) {\n  %n = add(%m, %x)\n  return %n -> %m\n}\n",
    "empty": "graph @main(%x: input f32[0,4] grad) {\n  %y = sum(%x; dim=[0])\n  return %y\n}\n",
    "identity": "graph @main(%x: input f32[2]) {\n  return %x\n}\n", "nothing": "graph @main() {\n  return \n}\n",
    "bf16": "graph @main(%x: input bf16[16,16] grad, %w: param f32[16,16] grad) {\n  %y = _to_copy(%x; dtype=f32)\n  %z = mm(%y, %w)\n  return %z\n}\n",
    "unsupported": "graph @main(%x: input f32[2,2], %y: input f32[2,2]) {\n  %z = nonzero(%x)\n  return %z\n}\n",
}
RULE = "graph @search(%x: input f32[2]) {\n  %a = neg(%x)\n  %b = neg(%a)\n  return %b\n}\ngraph @replace(%x: input f32[2]) {\n  return %x\n}\n"
EXTENSION = {"graph": ".clv", "tensors": ".safetensors", "remat": ".json", "buffers": ".csv", "text": ".txt", "kernels": ".loops", "rule": ".clv",
             "config": ".json", "tokenizer": ".json", "jsonl": ".jsonl"}
CONFIGS = [{"model_type": "gpt2", "vocab_size": 9, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2, "eos_token_id": 0},
           {"model_type": "llama", "vocab_size": 9, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2,
            "num_key_value_heads": 1, "max_position_embeddings": 16, "eos_token_id": 0}]
TOKENIZER = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
             "model": {"type": "WordLevel", "vocab": {w: k for k, w in enumerate(("<unk>", "abc", "ab", "de", "a", "b", "c", "d", "e"))}, "unk_token": "<unk>"}}


def golden_graphs(root):
    """The cases' texts in the goldens of passes, and whole files of graphs."""
    for path in sorted(glob.glob(os.path.join(root, "src", "pass", "**", "*.clv"), recursive=True)):
        with open(path) as f: text = f.read()
        for case in re.split(r"^== .*$", text, flags=re.M)[1:]:
            for side in re.split(r"^-- .*$", case, flags=re.M):
                if "graph @" in side: yield side.strip() + "\n"
    for path in sorted(glob.glob(os.path.join(root, "test", "fuzz", "clv", "*")) + glob.glob(os.path.join(root, "doc", "*.clv"))):
        with open(path, errors="replace") as f: yield f.read()


def remat_graph(random):
    n = random.randrange(1, 14)
    nodes = [{"id": k, "cost_ram": random.randrange(1, 20), "cost_cpu": random.randrange(10)} for k in range(n)]
    links = [{"source": random.randrange(k), "target": k} for k in range(1, n) for _ in range(random.randrange(3))]
    return json.dumps({"graph": {}, "nodes": nodes, "links": links})


def buffer_table(random):
    rows = []
    for k in range(random.randrange(1, 30)):
        lower = random.randrange(20)
        rows.append(f"b{k},{lower},{lower + random.randrange(1, 9)},{random.randrange(1, 500)}")
    return "id,lower,upper,size\n" + "\n".join(rows) + "\n"


class Corpus:
    def __init__(self, cleave, folder, root, random):
        self.folder, self.files = folder, {kind: [] for kind in EXTENSION}
        os.makedirs(folder)
        texts = list(golden_graphs(root))
        for text in list(GRAPHS.values()) * 8 + random.sample(texts, min(len(texts), 250)): self.add("graph", text)
        for _ in range(12):
            self.add("remat", remat_graph(random))
            self.add("buffers", buffer_table(random))
        for size in (30, 900, 4000): self.add("text", "".join(random.choices("abc de\n", k=size)))
        self.add("rule", RULE)
        for config in CONFIGS: self.add("config", json.dumps(config))
        self.add("tokenizer", json.dumps(TOKENIZER))
        for field in ("text", "body"): self.add("jsonl", "".join(json.dumps({field: "".join(random.choices("abc de", k=60))}) + "\n" for _ in range(40)))
        stages = os.path.join(folder, "stages")
        for name in ("mlp", "reductions", "random"):
            graph = self.add("graph", GRAPHS[name])
            subprocess.run([cleave, "compile", graph, "--dump", stages], capture_output=True, timeout=120)
            for path in sorted(glob.glob(stages + "/*.loops")):
                with open(path) as f: self.add("kernels", f.read())
            into = os.path.join(folder, name + ".safetensors")
            subprocess.run([cleave, "run", graph, "--random", "--grad", "--out", into], capture_output=True, timeout=120)
            if os.path.exists(into): self.files["tensors"].append(into)
        self.add("tensors", tensors_of({"w": [3, 4], "b": [3], "x": [2, 4]}))
        self.add("tensors", tensors_of({"x": [8, 4]}))
        self.make_odd()

    def add(self, kind, data):
        path = os.path.join(self.folder, f"{kind}_{len(self.files[kind])}{EXTENSION[kind]}")
        with open(path, "wb") as f: f.write(data if isinstance(data, bytes) else data.encode())
        self.files[kind].append(path)
        return path

    def make_odd(self):
        self.odd_files = ["", "-", "/dev/null", "/", "/proc/self/mem", os.path.join(self.folder, "missing.clv"), os.path.join(self.folder, "no", "folder.clv")]
        for name, data in {"empty.clv": b"", "noise.clv": bytes(range(256)) * 40, "zeros.safetensors": bytes(100), "newlines.csv": b"\n" * 5000,
                           "long_line.json": b"[" * 100000, "a name with\nbreaks and ümlauts.clv": GRAPHS["mlp"].encode(), "bom.clv": b"\xef\xbb\xbf" + GRAPHS["mlp"].encode(),
                           "crlf.clv": GRAPHS["mlp"].replace("\n", "\r\n").encode(), "unreadable.clv": GRAPHS["mlp"].encode()}.items():
            path = os.path.join(self.folder, name)
            with open(path, "wb") as f: f.write(data)
            self.odd_files.append(path)
        os.chmod(os.path.join(self.folder, "unreadable.clv"), 0)
        circle, folder = os.path.join(self.folder, "circle.clv"), os.path.join(self.folder, "folder.clv")
        os.symlink(circle, circle)
        os.mkdir(folder)
        self.odd_files += [circle, folder]

    def real(self, kind, random): return random.choice(self.files[kind])
    def odd(self, random): return random.choice(self.odd_files)

    def spoilt(self, kind, random, into):
        with open(self.real(kind, random), "rb") as f: data = bytearray(f.read())
        for _ in range(random.choice((1, 1, 2, 5))): data = spoil(data, random)
        path = os.path.join(into, f"spoilt_{random.randrange(10**6)}{EXTENSION[kind]}")
        with open(path, "wb") as f: f.write(data)
        return path


def tensors_of(shapes):
    header, data = {}, b""
    for name, shape in shapes.items():
        n = 1
        for s in shape: n *= s
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * n]}
        data += struct.pack("<%df" % n, *[0.25 * k for k in range(n)])
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def spoil(data, random):
    how = random.randrange(6)
    at = random.randrange(len(data) + 1)
    if how == 0: return data[:at]
    if how == 1 and data:
        data[at % len(data)] ^= 1 << random.randrange(8)
        return data
    if how == 2: return data[:at] + bytes(random.randrange(256) for _ in range(random.randrange(1, 9))) + data[at:]
    if how == 3:
        lines = data.split(b"\n")
        k = random.randrange(len(lines))
        lines[k:k + 1] = random.choice(([], [lines[k]] * 2, [random.choice(lines)]))
        return bytearray(b"\n".join(lines))
    numbers = list(re.finditer(rb"\d+(\.\d+)?", bytes(data)))
    if not numbers: return data
    m = random.choice(numbers)
    return data[:m.start()] + random.choice(BIG).encode() + data[m.end():]
