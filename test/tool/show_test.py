#!/usr/bin/env python3
"""cleave show: files of tensors, also hostile ones, and graphs.

    python3 test/tool/show_test.py CLEAVE_BINARY
"""
import json, math, struct, unittest

from command_case import MLP, Case, cleave


def safetensors(entries, data=b"", metadata=None):
    """entries: name to (dtype, shape, begin, end)."""
    header = {n: {"dtype": d, "shape": s, "data_offsets": [b, e]} for n, (d, s, b, e) in entries.items()}
    if metadata is not None: header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Show(Case):
    def test_tensors(self):
        values = [1.0, -3.0, math.nan, math.inf, 0.5]
        f = self.file("w.safetensors", safetensors({"a.weight": ("F32", [5], 0, 20), "n": ("I64", [1, 2], 20, 36), "none": ("BF16", [0, 7], 36, 36)},
                      struct.pack("<5f2q", *values, 7, -2), {"made by": "a test"}))
        lines = cleave("show", f).stdout.splitlines()
        self.assertEqual([line.split() for line in lines],
                         [["a.weight", "f32[5]", "20", "B"], ["n", "i64[1,2]", "16", "B"], ["none", "bf16[0,7]", "0", "B"],
                          ["3", "tensors,", "36", "B"], ["metadata", "made", "by:", "a", "test"]])
        self.assertIn("min -3, max 1, mean -0.5, 1 NaN, 1 inf", cleave("show", f, "--stats").stdout)
        out = json.loads(cleave("show", f, "--stats", "--json").stdout)
        self.assertEqual(out["bytes"], 36)
        self.assertEqual(out["metadata"], {"made by": "a test"})
        self.assertEqual(out["tensors"][0], {"name": "a.weight", "dtype": "f32", "shape": [5], "bytes": 20, "min": -3, "max": 1, "mean": -0.5, "nan": 1, "inf": 1})
        self.assertEqual(out["tensors"][1]["min"], -2)
        self.assertEqual(out["tensors"][2], {"name": "none", "dtype": "bf16", "shape": [0, 7], "bytes": 0, "min": None, "max": None, "mean": None, "nan": 0, "inf": 0})

    def test_what_a_run_writes(self):
        g, y = self.file("m.clv", MLP), self.path("y.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--grad", "--out", y).returncode, 0)
        out = json.loads(cleave("show", y, "--json").stdout)
        self.assertEqual({t["name"]: t["shape"] for t in out["tensors"]}, {"out.0": [2, 3], "grad.w": [3, 4], "grad.b": [3]})

    def test_a_graph(self):
        g = self.file("m.clv", MLP)
        out = json.loads(cleave("show", g, "--json").stdout)
        self.assertEqual([p["name"] for p in out["placeholders"]], ["w", "b", "x"])
        self.assertEqual((out["returns"], out["calls"]), ([{"name": "z", "type": "f32[2,3]"}], {"addmm": 1, "permute": 1, "relu": 1}))
        self.assertIn("3 calls: 1 addmm 1 permute 1 relu", cleave("show", g).stdout)
        self.refused(cleave("show", g, "--stats"), 1, "--stats")

    def test_hostile_files(self):
        huge = 1 << 62
        for name, data in {
            "empty": b"", "short": b"\1\0\0", "long header": struct.pack("<Q", 1 << 40) + b"{}", "no header": struct.pack("<Q", 8),
            "overflow": safetensors({"a": ("F32", [huge, huge], 0, 0)}), "negative": safetensors({"a": ("F32", [-1], 0, 4)}, b"1234"),
            "beyond": safetensors({"a": ("F32", [1], 0, 4)}), "gap": safetensors({"a": ("F32", [1], 4, 8)}, b"12345678"),
            "text": b"PK\3\4 something", "nested": struct.pack("<Q", 2000) + b"[" * 2000,
        }.items():
            for flags in ([], ["--stats"], ["--json"]):
                with self.subTest(name=name, flags=flags):
                    self.refused(cleave("show", self.file("h.safetensors", data), *flags), 1)
        self.refused(cleave("show", self.path("none.safetensors")), 1, "No such file")

    def test_names_that_a_terminal_obeys(self):
        f = self.file("h.safetensors", safetensors({"a\x1b[2J\nb\x9b": ("U8", [1], 0, 1)}, b"1", {"k\x07": "\x1b]0;t"}))
        r = cleave("show", f)
        self.assertIn("a\\x1b[2J\\x0ab\\x9b", r.stdout)
        self.assertEqual([c for c in r.stdout if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160], [])


class Sizes(Case):
    GRAPH = "graph @main(%s0: symint range(1, 64) hint(8), %x: input f32[s0,4]) {\n  %y = exp(%x)\n  return %y\n}\n"

    def test_sizes_of_random_inputs(self):
        g, y = self.file("s.clv", self.GRAPH), self.path("y.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--size", "s0=5", "--out", y).returncode, 0)
        self.assertEqual(json.loads(cleave("show", y, "--json").stdout)["tensors"][0]["shape"], [5, 4])
        self.refused(cleave("run", g, "--random"), 1, "give them with --size s0=N")
        self.refused(cleave("run", g, "--random", "--size", "s0=65"), 1, "expected a value in [1, 64]")
        self.refused(cleave("run", g, "--random", "--size", "s0=5,s0=6"), 1, "has a value already")
        self.refused(cleave("run", self.file("m.clv", MLP), "--random", "--size", "s0=5"), 1, "no symint %s0")
        self.refused(cleave("run", g, "--in", y, "--size", "s0=5"), 1)

    def test_sizes_of_joint_graphs(self):
        """Of each command that derives one; without --size the hint, 8."""
        text = "graph @main(%s0: symint range(1, 64) hint(8), %x: input f32[s0,4], %w: param f32[4] grad) {\n" \
               "  %y = mul(%x, %w)\n  %z = exp(%y)\n  %l = sum(%z)\n  return %l\n}\n"
        g = self.file("j.clv", text)
        def saved(*size):
            return json.loads(cleave("partition", g, "--json", *size).stdout)["saved_bytes"]
        self.assertEqual(saved("--size", "s0=32") - saved("--size", "s0=8"), 24 * 4 * 4 * 2)
        self.assertEqual(saved(), saved("--size", "s0=8") + 8)  # and the symint itself
        def most(*size):
            return json.loads(cleave("frontier", g, "--json", *size).stdout)["points"][0]["saved_bytes"]
        self.assertEqual(most("--size", "s0=32"), 4 * most("--size", "s0=8"))
        self.assertIn("[32,4]", cleave("grad", g, "--size", "s0=32").stdout)
        for command in ("partition", "frontier", "grad", "kernels"):
            self.refused(cleave(command, g, "--size", "s0=65"), 1, "expected a value in [1, 64]")
            self.refused(cleave(command, g, "--size", "s1=5"), 1, "no symint %s1")

    def test_sizes_that_are_counted(self):
        g = self.file("s.clv", self.GRAPH)
        count = lambda *words: json.loads(cleave("kernels", g, "--json", *words).stdout)["elements"]
        self.assertEqual((count(), count("--size", "s0=16")), (64, 128))

    def test_defaults_are_shown(self):
        text = cleave("help", "run").stdout
        for part in ("--repeat INT=1 ", "--engine TEXT=compiled ", "--threads INT=0 "): self.assertIn(part, text)
        self.assertIn("--init-scale FLOAT=65536 ", cleave("help", "train").stdout)
        self.assertIn("\\-\\-repeat INT=1", cleave("help", "--man").stdout)

    def test_an_index_out_of_range_names_no_kernel(self):
        g = self.file("g.clv", "graph @main(%x: input f32[3], %i: input i64[2]) {\n  %n = neg(%x)\n  %h = gather(%n, %i; dim=0)\n  %y = exp(%h)\n  return %y\n}\n")
        i = self.file("i.safetensors", safetensors({"i": ("I64", [2], 0, 16)}, struct.pack("<2q", 1, 9)))
        self.refused(cleave("run", g, "--in", i, "--random"), 1, "gather: index: index 9 is out of range [0, 3), %i[1], computing %h")


if __name__ == "__main__": unittest.main()
