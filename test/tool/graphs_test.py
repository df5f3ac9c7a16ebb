#!/usr/bin/env python3
"""Commands that read graphs: check, print, draw, opt, grad, run; and the help.

    python3 test/tool/graphs_test.py CLEAVE_BINARY
"""
import json, math, os, struct, xml.etree.ElementTree, unittest

from command_case import MLP, CONTRADICTION, Case, cleave, tensors


class Help(Case):
    def test_lists_and_explains_each_command(self):
        listing = cleave("help")
        self.assertEqual(listing.returncode, 0)
        for name in ("check", "print", "run", "grad", "partition", "frontier", "remat", "plan", "compile", "lower", "kernels", "report", "train"):
            self.assertIn(name, listing.stdout)
            one = cleave("help", name)
            self.assertEqual(one.returncode, 0)
            self.assertIn("example:\n  cleave " + name, one.stdout)

    def test_unknown_command_and_option_name_the_nearest(self):
        self.refused(cleave("partitoin"), 1, "did you mean partition?")
        self.refused(cleave("run", "g.clv", "--treads", "2"), 1, "--treads", "did you mean --threads?")
        self.refused(cleave("run"), 1, "GRAPH")
        self.refused(cleave("train", "--text", self.text, "--steps", "many"), 1, "--steps")


class Graphs(Case):
    def test_check_is_silent_and_counts(self):
        g = self.file("m.clv", MLP)
        self.assertEqual((cleave("check", g).stdout, cleave("check", g).returncode), ("", 0))
        self.assertEqual(json.loads(cleave("check", "--json", "-", stdin=MLP).stdout), {"nodes": 3, "graphs": 1})

    def test_print_is_a_fixed_point(self):
        once = cleave("print", "-", stdin=MLP)
        self.assertEqual(once.returncode, 0, once.stderr)
        self.assertEqual(cleave("print", "-", stdin=once.stdout).stdout, once.stdout)

    def test_errors_point_at_the_place(self):
        self.refused(cleave("check", "-", stdin=MLP.replace("relu(%y)", "relu(%yy)")), 1, "stdin:4:", "%yy", "^")
        self.refused(cleave("check", "-", stdin=MLP.replace("relu", "reluu")), 1, "reluu", "relu")
        self.refused(cleave("check", "-", stdin=MLP.replace("relu", "_unique2")), 2, "_unique2")
        self.refused(cleave("check", self.path("none.clv")), 1, "none.clv")
        self.refused(cleave("check", self.folder.name), 1, "folder")

    def test_engines_agree_and_grad_gives_gradients(self):
        g = self.file("m.clv", MLP)
        a, b = self.path("a.safetensors"), self.path("b.safetensors")
        r = cleave("run", g, "--random", "--grad", "--out", a, "--json", "--repeat", "3")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual(set(report), {"compile_ms", "run_ms", "kernels", "peak_bytes", "planned_peak_bytes", "target",
                                       "device"})
        self.assertEqual(report["peak_bytes"], report["planned_peak_bytes"])
        self.assertNotIn("cudagraphs", r.stderr)
        asked = cleave("run", g, "--random", "--json", "--repeat", "3", "--options", "cudagraphs=on")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(json.loads(asked.stdout)["cudagraphs"],
                         {"recorded": 0, "launched": 0, "skipped": 3, "reason": "cpu device (%w)"})
        self.assertEqual(asked.stderr.count("skipping cudagraphs due to cpu device (%w)"), 1)
        self.assertEqual(cleave("run", g, "--random", "--grad", "--out", b).returncode, 0)
        x, y = tensors(a), tensors(b)
        self.assertEqual(set(x), {"out.0", "grad.w", "grad.b"})
        self.assertEqual(x, y)
        self.assertTrue(any(v != 0 for v in x["grad.w"]))
        c = self.path("c.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--grad", "--engine", "reference", "--out", c).returncode, 0)
        wide = tensors(c)["out.0"]
        want = struct.unpack("<%dd" % (len(wide) // 8), wide)
        for got, w in zip(x["out.0"], want): self.assertAlmostEqual(got, w, delta=1e-5)

    def test_reference_writes_results_unrounded(self):
        text = """graph @main(%x: input f16[1]) {
  %y = mul(%x; other=65504.0)
  %z = _to_copy(%y; dtype=f32)
  return %y, %z, %x
}
"""
        out = self.path("out.safetensors")
        r = cleave("run", self.file("h.clv", text), "--random", "--engine", "reference", "--out", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        numbers = {name: struct.unpack("<d", raw)[0] for name, raw in tensors(out).items()}
        self.assertEqual(numbers["out.0"], 65504 * numbers["out.2"])
        half = lambda x: struct.unpack("<e", struct.pack("<e", x))[0] if abs(x) < 65520 else math.copysign(math.inf, x)
        self.assertEqual(numbers["out.1"], half(numbers["out.0"]))  # what a call reads is rounded
        self.assertNotEqual(numbers["out.1"], numbers["out.0"])
        self.assertIn("unrounded", cleave("help", "run").stdout)

    def test_complex_tensors_of_files(self):
        graph = self.file("turned.clv", """graph @main(%x: input f32[2,2] grad, %t: const c64[2]) {
  %z = view_as_complex(%x) : c64[2]
  %w = mul(%z, %t) : c64[2]
  %y = view_as_real(%w) : f32[2,2]
  return %y, %w
}
""")
        header = {"x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}, "t": {"dtype": "C64", "shape": [2], "data_offsets": [16, 32]}}
        header = json.dumps(header).encode()
        data = self.file("in.safetensors", struct.pack("<Q", len(header)) + header + struct.pack("<8f", 1, 2, 3, -4, 0, 1, -1, 0))
        for engine in "compiled", "reference":
            out = self.path(engine)
            r = cleave("run", graph, "--in", data, "--engine", engine, "--out", out)
            self.assertEqual(r.returncode, 0, r.stderr)
            unpacked = {k: v if engine == "compiled" else struct.unpack("<4d", v) for k, v in tensors(out).items()}
            self.assertEqual(unpacked, {"out.0": (-2, 1, -3, 4), "out.1": (-2, 1, -3, 4)})

    def test_missing_inputs_are_named(self):
        self.refused(cleave("run", "-", stdin=MLP), 1, "w", "--random")

    def test_partition_halves_fit(self):
        g, f, b = self.file("m.clv", MLP), self.path("f.clv"), self.path("b.clv")
        r = cleave("partition", g, "--mode", "default", "--json", "--forward", f, "--backward", b)
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual(cleave("check", f).returncode, 0)
        self.assertEqual(cleave("check", b).returncode, 0)
        self.assertEqual(report["forward"]["inputs"], 3)
        self.assertGreater(len(report["saved"]), 0)
        self.refused(cleave("partition", g, "--mode", "fast"), 1, "fast")

    def test_rules_of_mode_pytorch_are_options(self):
        g = self.file("m.clv", MLP)
        for rule in (["--aggressive"], ["--ban", "reductions=off,used_far_apart=off"], ["--recompute-views"],
                     ["--ban", "not_in_allowlist=off", "--ban", "reductions=on"], ["--max-distance", "3"]):
            self.assertEqual(cleave("partition", *rule, "--mode", "pytorch", g).returncode, 0)
        self.refused(cleave("partition", g, "--mode", "pytorch", "--ban", "reduction=off"), 1, "no such rule", "reductions")
        self.refused(cleave("partition", g, "--mode", "pytorch", "--ban", "reductions"), 1, "NAME=off")
        self.refused(cleave("partition", g, "--aggressive"), 1, "mode pytorch alone")

    def test_pictures_and_reasons(self):
        g, d = self.file("m.clv", MLP), self.path("pictures")
        r = cleave("partition", g, "--plot", d, "--budget", "100%", "--explain")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("a placeholder, in memory anyway", r.stdout)
        self.assertEqual(sorted(os.listdir(d)), ["cut.svg", "frontier.svg", "memory.svg"])
        for name in os.listdir(d): self.assertEqual(xml.etree.ElementTree.parse(os.path.join(d, name)).getroot().tag[-3:], "svg")
        r = cleave("frontier", g, "--plot", self.path("more"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(os.listdir(self.path("more")), ["frontier.svg"])
        self.refused(cleave("partition", g, "--plot", g), 1, "--plot")

    def test_contradictory_tags_are_drawn(self):
        g = self.file("c.clv", CONTRADICTION)
        self.refused(cleave("partition", g, "--plot", self.path("p")), 1, "%m: tagged must_recompute", "%v: a view")
        self.assertEqual(sorted(os.listdir(self.path("p"))), ["conflict.svg", "network.dot", "network.svg"])

    def test_estimator_profile_measures(self):
        g = self.file("m.clv", MLP)
        r = cleave("partition", g, "--mode", "pytorch", "--budget", "0.5", "--estimator", "profile", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_grad_writes_a_joint_graph(self):
        r = cleave("grad", "-", stdin=MLP)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("-> grad %w", r.stdout)
        self.assertEqual(cleave("check", "-", stdin=r.stdout).returncode, 0)

    def test_grad_of_conds_that_share_branches_is_linear(self):
        text = "graph @l0(%a: input f32[3]) {\n  %r = sin(%a)\n  return %r\n}\n"
        for k in range(1, 41):
            name, grad = ("main", " grad") if k == 40 else (f"l{k}", "")
            text += (f"graph @{name}(%a: input f32[3]{grad}) {{\n  %s = sum(%a)\n  %p = gt(%s; other=0.0)\n"
                     f"  %c = cond(%p, [%a]; then=@l{k - 1}, otherwise=@l{k - 1})\n  %r = mul(%c, %a)\n  return %r\n}}\n")
        r = cleave("grad", "-", stdin=text)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertLess(len(r.stdout), 20 * len(text))
        self.assertEqual(cleave("check", "-", stdin=r.stdout).returncode, 0)

    def test_autocast_is_an_option_of_what_takes_forward_graphs(self):
        g = self.file("m.clv", MLP)
        cast = cleave("print", g, "--autocast", "bf16")
        self.assertEqual(cast.returncode, 0, cast.stderr)
        self.assertIn("_to_copy(%w; dtype=bf16)", cast.stdout)
        joint = cleave("grad", g, "--autocast", "bf16").stdout
        self.assertEqual(joint, cleave("grad", "-", stdin=cast.stdout).stdout)
        for command in (["run", g, "--random", "--grad"], ["partition", g], ["kernels", g, "--grad"], ["frontier", g]):
            r = cleave(*command, "--autocast", "f16")
            self.assertEqual(r.returncode, 0, r.stderr)
        self.refused(cleave("run", g, "--random", "--autocast", "f32"), 1, "--autocast f32: expected bf16 or f16")
        self.refused(cleave("run", "-", "--random", "--autocast", "bf16", stdin=joint), 1, "autocast comes before")


if __name__ == "__main__":
    unittest.main()
