#!/usr/bin/env python3
"""Crafted files and attributes: one clear message, exit status 1 or 2, within a second and 2 GiB.

    python3 test/tool/hostile_test.py CLEAVE_BINARY [--unlimited]

--unlimited leaves the limits out, for builds with sanitizers. test/op/hostile_attribute_test.cpp
gives every attribute of every operator such values.
"""
import json, os, resource, struct, subprocess, sys, tempfile, unittest

CLEAVE = sys.argv.pop(1)
LIMITED = "--unlimited" not in sys.argv
if not LIMITED: sys.argv.remove("--unlimited")
BIG = 2**63 - 1


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def graph(line, inputs="%x: input f32[2,3]", result="%y"):
    return f"graph @main({inputs}) {{\n  {line}\n  return {result}\n}}\n"


def tensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape=(2, 3), begin=0, end=24, dtype="F32", **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end], **more}


def indices(*values): return struct.pack("<%dq" % len(values), *values)


# Name to text: all are refused by `check`.
PROGRAMS = {
    "nothing": "", "blank": "\n\n", "noise": "\x00\x01\x02" * 100, "version": "clv 999\n" + graph("%y = relu(%x)"),
    "no return": "graph @main(%x: input f32[2]) {\n}\n", "not closed": "graph @main(%x: input f32[2]) {\n  %y = relu(%x)\n",
    "open header": "graph @main(" + "%x: input f32[2], " * 1000,
    "deep list": graph("%y = view(%x; size=" + "[" * 200000 + "]" * 200000 + ")"),
    "deep open list": graph("%y = cat(" + "[" * 200000),
    "deep dim": graph("%y = relu(%x)", "%s0: symint, %x: input f32[" + "(" * 100000 + "s0" + ")" * 100000 + "]"),
    "deep functions": graph("%y = relu(%x)", "%s0: symint, %x: input f32[" + "min(" * 100000 + "s0"),
    "long name": graph("%y = " + "a" * 1000000 + "(%x)"), "long number": graph("%y = view(%x; size=[" + "9" * 100000 + "])"),
    "long string": graph('%y = gelu(%x; approximate="' + "t" * 1000000 + '")'),
    "open string": graph('%y = gelu(%x; approximate="tanh)'), "bad escape": graph('%y = gelu(%x; approximate="\\q")'),
    "dim of 64 bits": graph("%y = relu(%x)", f"%x: input f32[{2**63}]"),
    "negative dim": graph("%y = relu(%x)", "%x: input f32[-1,3]"),
    "sizes that wrap": graph("%y = relu(%x)", f"%x: input f32[{2**32},{2**32}]"),
    "sizes that wrap to little": graph("%y = relu(%x)", f"%x: input f32[{2**62 + 1},4]"),
    "bytes that wrap": graph("%y = relu(%x)", f"%x: input f64[{2**61}]"),
    "type": graph("%y = relu(%x)", "%x: input f33[2]"), "role": graph("%y = relu(%x)", "%x: lodger f32[2]"),
    "device": graph("%y = relu(%x)", "%x: input f32[2]@cuda:99999999999999999999"),
    "negative device": graph("%y = relu(%x)", "%x: input f32[2]@cuda:-1"),
    "strides": graph("%y = relu(%x)", "%x: input f32[2,3]{1}"),
    "strides that wrap": graph("%y = relu(%x)", f"%x: input f32[2,3]{{{2**62},{2**62}}}"),
    "negative strides": graph("%y = relu(%x)", "%x: input f32[2,3]{-3,1}"),
    "own use": graph("%y = relu(%y)"), "use before": graph("%y = relu(%z)\n  %z = relu(%x)"),
    "cycle": graph("%y = add(%x, %z)\n  %z = add(%x, %y)"), "no such value": graph("%y = relu(%nobody)"),
    "name twice": graph("%x = relu(%x)", result="%x"), "name twice in header": graph("%y = relu(%x)", "%x: input f32[2], %x: input f32[2]"),
    "results": graph("%y, %z = relu(%x)"), "no result": graph("relu(%x)"), "operands": graph("%y = relu(%x, %x)"),
    "no operand": graph("%y = relu()"), "list for a tensor": graph("%y = relu([%x])"), "tensor for a list": graph("%y = cat(%x; dim=0)"),
    "unknown operator": graph("%y = system(%x)"), "unknown attribute": graph("%y = relu(%x; path=1)"),
    "attribute twice": graph("%y = sum(%x; dim=[0], dim=[1])"), "wrong annotation": graph("%y = relu(%x) : f32[3,2]"),
    "update of nobody": graph("%y = relu(%x)", result="%y -> %q"),
    "gradient of an input": graph("%y = relu(%x)", result="%y -> grad %x"),
    "rng of floats": graph("%y = relu(%x)", "%x: rng_state f32[2,3]"), "symint of floats": graph("%y = relu(%x)", "%x: symint f32"),
    "gradient of integers": graph("%y = relu(%x)", "%x: param i64[2] grad"),
    "range turned round": graph("%y = relu(%x)", "%s0: symint range(9,2), %x: input f32[s0]"),
    "range that wraps": graph("%y = relu(%x)", f"%s0: symint range(0,{2**63}), %x: input f32[s0]"),
    "no such symbol": graph("%y = relu(%x)", "%x: input f32[s7]"),
    "division by zero": graph("%y = relu(%x)", "%s0: symint, %x: input f32[s0//0]"),
    "mod by zero": graph("%y = relu(%x)", "%s0: symint, %x: input f32[mod(s0,0)]"),
    "no such subgraph": graph("%y = cond(%x; then=@nobody)"),
    "two graphs of one name": graph("%y = relu(%x)") * 2, "not UTF-8": b"graph @main(%x\xff\xfe: input f32[2]) {\n",
    "many errors": graph("%y = relu(%x" * 1000),
}

# A call on %x: input f32[2,3], or on other inputs: all are refused by `check` or, as too large, by `run`.
CALLS = [
    f"full(size=[{BIG}], fill_value=0)", f"full(size=[{2**32},{2**32}], fill_value=0)", "full(size=[-1], fill_value=0)",
    f"zeros(size=[{2**40}])", f"arange(end={2**62})", "arange(end=1e300)", "arange(end=nan)", "arange(end=inf)", "arange(end=5, step=0)",
    "arange(end=-5)", f"expand(%x; size=[{2**61},2,3])", f"expand(%x; size=[{2**40},2,3])", f"repeat(%x; repeats=[{2**40},1])",
    f"repeat(%x; repeats=[{2**62},4])", "repeat(%x; repeats=[-1,1])", "repeat(%x; repeats=[1])",
    f"view(%x; size=[{2**32},{2**32}])", f"view(%x; size=[-1,{BIG}])", "view(%x; size=[-1,-1])", "view(%x; size=[-1,0])", "view(%x; size=[-2,3])",
    f"select(%x; dim=0, index={BIG})", f"select(%x; dim={-2**63}, index=0)", f"select(%x; dim=0, index={-2**63})",
    f"slice(%x; dim={BIG})", "slice(%x; dim=0, step=0)", "slice(%x; dim=0, step=-1)", "sum(%x; dim=[0,0])", f"sum(%x; dim=[{BIG}])",
    "permute(%x; dims=[0,0])", "permute(%x; dims=[0])", f"permute(%x; dims=[0,{2**32}])", f"transpose(%x; dim0={-2**63}, dim1=0)",
    f"constant_pad_nd(%x; pad=[{BIG},{BIG}])", f"constant_pad_nd(%x; pad=[{2**40},0])", f"constant_pad_nd(%x; pad=[{-2**63},0])",
    "constant_pad_nd(%x; pad=[1])", "constant_pad_nd(%x; pad=[-9,0])",
    f"as_strided(%x; size=[2,2], stride=[{2**62},{2**62}])", "as_strided(%x; size=[9], stride=[9])", "as_strided(%x; size=[2], stride=[-1])",
    f"as_strided(%x; size=[2], stride=[1], storage_offset={BIG})", f"unfold(%x; dimension=0, size={2**63 - 1}, step=1)", f"unfold(%x; dimension={-2**63}, size=1, step=1)",
    "unfold(%x; dimension=0, size=1, step=0)", "unfold(%x; dimension=0, size=-1, step=1)", f"split(%x; split_size=0)", "split(%x; split_size=-1)",
    "split_with_sizes(%x; split_sizes=[1,5])", f"split_with_sizes(%x; split_sizes=[{BIG},{BIG},4])", "chunk(%x; chunks=0)", f"unbind(%x; dim={BIG})",
    f"cumsum(%x; dim={BIG})", "topk(%x; k=-1)", f"topk(%x; k={BIG})", f"sort(%x; dim={BIG})", f"_softmax(%x; dim={-2**63}, half_to_float=false)",
    'gelu(%x; approximate="none of them")', f"var(%x; dim=[{-2**63}])", f"rand(%x; size=[{2**40}])", f"diagonal(%x; offset={2**63 - 1}, dim1=0, dim2=0)",
    "native_layer_norm(%x; normalized_shape=[], eps=1e-05)", f"native_layer_norm(%x; normalized_shape=[{BIG}], eps=1e-05)",
    f"unsqueeze(%x; dim={BIG})", f"squeeze(%x; dim=[{BIG}])", f"stack([%x]; dim={BIG})", f"cat([%x]; dim={-2**63})", "cat([]; dim=0)", "add(1, 2)",
    "sum(%x; dim=0.5)", "sum(%x; dim=true)", 'sum(%x; dim="all")', "sum(%x; keepdim=2)", "view(%x; size=6.0)", "view(%x; size=none)",
    "relu(none)", "add(%x; other=\"1\")", "convert_element_type(%x; dtype=7)", "flip(%x; dims=[0,0])",
]
IMAGE = "%x: input f32[1,4,5,5], %w: input f32[4,2,3,3], %i: input i64[2]"
CONVOLUTION = dict(stride="[1,1]", padding="[0,0]", dilation="[1,1]", transposed="false", output_padding="[0,0]", groups="2")
WINDOW = dict(kernel_size="[2,2]", stride="[1,1]", padding="[0,0]", dilation="[1,1]")
HOSTILE_SIZES = ("[0,0]", "[-1,-1]", f"[{BIG},{BIG}]", f"[{-2**63},1]", "[]", "[1,1,1,1]", "none", "[0.5,1]")


def image_calls():
    for name in ("stride", "dilation"):
        for value in HOSTILE_SIZES: yield "convolution(%x, %w; {})", {**CONVOLUTION, name: value}
    for value in HOSTILE_SIZES[1:]: yield "convolution(%x, %w; {})", {**CONVOLUTION, "padding": value}
    for value in ("3", "0", "-1", str(BIG), str(-2**63), "2.0"): yield "convolution(%x, %w; {})", {**CONVOLUTION, "groups": value}
    yield "convolution(%x, %w; {})", {**CONVOLUTION, "transposed": "true", "output_padding": f"[{BIG},0]"}
    for name in ("kernel_size", "dilation"):
        for value in HOSTILE_SIZES[:4]: yield "max_pool2d_with_indices(%x; {})", {**WINDOW, name: value}
    for value in (f"[{BIG},{BIG}]", "[-1,-1]", "[2,2]"): yield "max_pool2d_with_indices(%x; {})", {**WINDOW, "padding": value}
    for value in HOSTILE_SIZES[1:4]: yield "upsample_nearest2d(%x; {})", {"output_size": value}
    for value in (f"[{BIG},1]", "[-1,2]"): yield "_adaptive_avg_pool2d(%x; {})", {"output_size": value}
    for value in (f"[{BIG},0,0,0]", "[5,0,0,0]", f"[{-2**63},0,0,0]"): yield "reflection_pad2d(%x; {})", {"padding": value}
    for value in (f"[{BIG},0,0,0]", "[-9,0,0,0]"): yield "replication_pad2d(%x; {})", {"padding": value}


# Indices that a file holds: (operands, call), with %i beyond what it indexes.
INDEXED = {
    "embedding": ("%t: input f32[4,2], %i: input i64[2]", "embedding(%t, %i)"),
    "gather": ("%t: input f32[4], %i: input i64[2]", "gather(%t, %i; dim=0)"),
    "index_select": ("%t: input f32[4], %i: input i64[2]", "index_select(%t, %i; dim=0)"),
    "index": ("%t: input f32[4], %i: input i64[2]", "index(%t, [%i])"),
    "scatter": ("%t: input f32[4], %i: input i64[2]", "scatter(%t, %i, %t; dim=0)"),
    "scatter_add": ("%t: input f32[4], %i: input i64[2]", "scatter_add(%t, %i, %t; dim=0)"),
    "index_add": ("%t: input f32[4], %i: input i64[2], %s: input f32[2]", "index_add(%t, %i, %s; dim=0)"),
    "index_put": ("%t: input f32[4], %i: input i64[2], %s: input f32[2]", "index_put(%t, [%i], %s)"),
    "embedding_dense_backward": ("%t: input f32[2,3], %i: input i64[2]",
                                 "embedding_dense_backward(%t, %i; num_weights=4, padding_idx=-1, scale_grad_by_freq=false)"),
}


class Hostile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as f: f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def run_limited(self, *args):
        return subprocess.run([CLEAVE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120,
                              preexec_fn=limits if LIMITED else None)

    def refused(self, what, *args):
        r = self.run_limited(*args)
        with self.subTest(what):
            self.assertIn(r.returncode, (1, 2), f"{r.stdout[:300]}{r.stderr[:600]}")
            self.assertTrue(r.stderr.startswith(("cleave: error: ", "cleave: not supported: ")), r.stderr[:300])
            self.assertEqual(r.stderr.count("cleave: "), 1, r.stderr[:600])
            self.assertLess(len(r.stderr), 4000)
            self.assertNotIn("\x00", r.stderr)

    def test_programs(self):
        for what, text in PROGRAMS.items():
            self.refused(what, "run" if "wrap" in what or "bytes" in what else "check", self.file("g.clv", text), *["--random"] * ("wrap" in what))

    def test_attributes(self):
        for call in CALLS: self.refused_call(call, graph(f"%y = {call}"))
        for pattern, attributes in image_calls():
            results = "%y, %z" if "with_indices" in pattern else "%y"
            call = pattern.format(", ".join(f"{k}={v}" for k, v in attributes.items()))
            self.refused_call(call, graph(f"{results} = {call}", IMAGE))

    def refused_call(self, what, text):
        g = self.file("g.clv", text)
        self.refused(what, "run", g, "--random", "--engine", "reference")
        if self.run_limited("check", g).returncode == 0:  # legal, too large to run
            self.refused("compiled " + what, "run", g, "--random")

    def test_tensors(self):
        g = self.file("g.clv", graph("%y = relu(%x)"))
        data = bytes(24)
        one = entry()
        deep = b'{"x":' + b"[" * 100000 + b"]" * 100000 + b"}"
        files = {
            "nothing": b"", "short": b"\x01\x02", "length beyond": tensors({"x": one}, data, 2**40), "length of 64 bits": tensors({"x": one}, data, 2**64 - 1),
            "length of nothing": tensors({"x": one}, data, 0), "no JSON": tensors(b"\xff" * 40, data), "a list": tensors(b"[1,2]", data),
            "deep": tensors(deep, data), "deep open": tensors(b'{"x":' + b'{"a":' * 100000, data), "open": tensors(b'{"x":{"dtype":"F32"', data),
            "name twice": tensors(b'{"x":%s,"x":%s}' % ((json.dumps(one).encode(),) * 2), data),
            "sizes that wrap": tensors({"x": entry((2**32, 2**32))}, data), "sizes that wrap to little": tensors({"x": entry((2**62 + 6, 4))}, data),
            "a dim of 64 bits": tensors({"x": entry((2**64, 1))}, data), "negative dim": tensors({"x": entry((-2, -3))}, data), "dim of 1.5": tensors({"x": entry((1.5, 4))}, data),
            "shape of text": tensors({"x": {**one, "shape": "2,3"}}, data), "100000 dims": tensors({"x": entry([1] * 100000, 0, 4)}, data[:4]),
            "end beyond": tensors({"x": entry((2, 300), 0, 2400)}, data), "begin after end": tensors({"x": entry((2, 3), 24, 0)}, data),
            "end of 64 bits": tensors({"x": entry((2, 3), 2**63, 2**63 + 24)}, data), "negative begin": tensors({"x": entry((2, 3), -24, 0)}, data),
            "overlap": tensors({"x": entry(), "y": entry((2, 3), 12, 36)}, data * 2), "gap": tensors({"x": entry(), "y": entry((2, 3), 48, 72)}, bytes(72)),
            "tail": tensors({"x": one}, data * 2), "unknown dtype": tensors({"x": entry(dtype="F33")}, data), "foreign dtype": tensors({"x": entry((2, 12), dtype="F8_E4M3")}, data),
            "no dtype": tensors({"x": {"shape": [2, 3], "data_offsets": [0, 24]}}, data), "more fields": tensors({"x": entry(path="/etc/passwd")}, data),
            "metadata": tensors({"__metadata__": {"a": {"b": 1}}, "x": one}, data), "other shape": tensors({"x": entry((3, 2))}, data),
            "other dtype": tensors({"x": entry(dtype="I32")}, data), "other name": tensors({"z": one}, data), "name with NUL": tensors({"x\0/../../etc": one}, data),
            "long name": tensors({"x" * 10**6: one}, data), "a pickle": b"\x80\x04\x95" + bytes(100), "a zip": b"PK\x03\x04" + bytes(100),
        }
        for what, contents in files.items():
            self.refused(what, "run", g, "--in", self.file("x.safetensors", contents))
        self.refused("a folder", "run", g, "--in", self.folder.name)
        self.refused("no file", "run", g, "--in", os.path.join(self.folder.name, "none"))
        sparse = self.file("sparse", tensors({"x": one}, data))
        os.truncate(sparse, 1 << 36)
        self.refused("64 GiB of nothing", "run", g, "--in", sparse)
        os.truncate(g, 1 << 36)
        self.refused("a program of 64 GiB", "check", g)

    def test_indices_of_files(self):
        for name, (inputs, call) in INDEXED.items():
            g = self.file("g.clv", graph(f"%y = {call}", inputs))
            for wrong in (4, -5, BIG, -2**63):
                i = self.file("i.safetensors", tensors({"i": entry((2,), 0, 16, "I64")}, indices(0, wrong)))
                engines = ("reference", "compiled") if wrong in (4, BIG) else ("reference",)
                for engine in engines: self.refused(f"{name} of {wrong}, {engine}", "run", g, "--in", i, "--random", "--engine", engine)

    def test_options(self):
        g = self.file("g.clv", graph("%y = relu(%x)"))
        for options in (["--threads", "-1"], ["--threads", str(2**40)], ["--repeat", "0"], ["--repeat", str(2**70)], ["--seed", "x"],
                        ["--engine", "magic"], ["--out", "/no/such/folder/x"], ["--passes", ""]):
            self.refused(" ".join(options), "run", g, "--random", *options)


if __name__ == "__main__":
    unittest.main()
