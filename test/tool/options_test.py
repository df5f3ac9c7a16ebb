#!/usr/bin/env python3
"""Options of all commands: numbers, names, what goes together.

    python3 test/tool/options_test.py CLEAVE_BINARY
"""
import json, os, unittest

from command_case import MLP, TINY, Case, cleave, contents


class Options(Case):
    def test_times_are_of_the_sizes_that_are_counted(self):
        r = cleave("kernels", "-", "--time", 1, "--json", stdin="graph @main(%s0: symint hint(8), %x: input f32[s0,4]) {\n  %y = sin(%x)\n  return %y\n}\n")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual((report["elements"], [s["bytes"] for s in report["times"]["steps"]]), (64, [256]))

    def test_numbers_beyond_their_bits_are_refused(self):
        g = self.file("m.clv", MLP)
        for word in ("9223372036854775808", "-9223372036854775809", "99999999999999999999", "1.5", "0x10", "", "5 "):
            self.refused(cleave("run", g, "--random", "--seed", word), 1, "--seed", "is not an integer from")
        for word in ("18446744073709551616", "-1"): self.refused(cleave("train", "--text", self.text, "--seed", word), 1, "--seed", "is not an integer from 0 to")
        self.refused(cleave("run", g, "--random", "--repeat", "2147483648"), 1, "--repeat")
        self.refused(cleave("train", "--text", self.text, "--lr", "1e999"), 1, "--lr", "is not a number")
        for word in ("9223372036854775807", "-9223372036854775808", "+3"): self.assertEqual(cleave("run", g, "--random", "--seed", word).returncode, 0)

    def test_the_command_says_what_it_is(self):
        self.assertRegex(cleave("--version").stdout, r"^cleave \d+\.\d+\.\d+, built by \S+ .*\d+\.\d+")
        self.refused(cleave("hlep"), 1, "no command 'hlep'; did you mean help?")
        overview, page = cleave("help").stdout, cleave("help", "--man").stdout
        self.assertIn("FILE.clv", overview)
        self.assertTrue(page.startswith(".TH CLEAVE 1"))
        commands = [line.split()[0] for line in overview.splitlines() if line.startswith("  ")]
        self.assertEqual(commands[-1], "help")
        for name in commands[:-1]:
            self.assertIn(f".SS {name}\n", page)
            self.assertIn(f"Usage: cleave {name} ", cleave("help", name).stdout)

    def test_an_empty_value_takes_no_other_word(self):
        self.refused(cleave("frontier", self.file("m.clv", MLP), "--plot=", "--json"), 1, "--plot=", "expected a value")

    def test_wrong_ones_are_refused_in_every_mode(self):
        g = self.file("m.clv", MLP)
        for mode in ("exact", "default", "pytorch"):
            self.refused(cleave("partition", g, "--mode", mode, "--solver", "nonsense"), 1, "--solver nonsense")
            self.refused(cleave("partition", g, "--mode", mode, "--estimator", "nonsense"), 1, "--estimator nonsense")
            if mode == "pytorch": continue
            self.refused(cleave("partition", g, "--mode", mode, "--solver", "dp"), 1, "of mode pytorch alone")
        for engine in ("compiled", "reference"): self.refused(cleave("run", g, "--random", "--engine", engine, "--on", "nonsense"), 1, "--on", "nonsense")

    def test_a_budget_of_training_names_the_option_and_no_source(self):
        for word in ("nonsense", "1B", "0", "200%"):
            r = cleave("train", "--text", self.text, "--budget", word, *TINY)
            self.refused(r, 1, "--budget " + word)
            self.assertNotIn(".cpp", r.stderr)

    def test_one_way_from_a_forward_graph(self):
        """Every command takes a graph through the passes in front of gradients, or through none."""
        g = self.file("s.clv", """graph @main(%q: input f32[2,8,16] grad, %k: input f32[2,8,16] grad, %v: input f32[2,8,16] grad) {
  %t = permute(%k; dims=[0,2,1])
  %s = bmm(%q, %t)
  %d = mul(%s; other=0.25)
  %p = _softmax(%d; dim=-1, half_to_float=false)
  %o = bmm(%p, %v)
  return %o
}
""")
        seen = {}
        for passes in ("on", "off"):
            dump = self.path("dump_" + passes)
            compiled = json.loads(cleave("compile", g, "--passes", passes, "--dump", dump, "--json").stdout)
            self.assertEqual([s["name"] for s in compiled["stages"]][:4], ["autocast", "pre_grad", "verify", "joint"])
            text = contents(os.path.join(dump, "00_verify.clv")).decode()
            joint = cleave("grad", g, "--passes", passes).stdout
            halves = self.path("f.clv"), self.path("b.clv")
            self.assertEqual(cleave("partition", g, "--passes", passes, "--forward", halves[0], "--backward", halves[1]).returncode, 0)
            self.assertEqual(cleave("frontier", g, "--passes", passes, "--json").returncode, 0)
            kinds = [k["kind"] for k in json.loads(cleave("kernels", g, "--passes", passes, "--json").stdout)["kernels"]]
            trained = [k["kind"] for k in json.loads(cleave("kernels", g, "--grad", "--passes", passes, "--json").stdout)["kernels"]]
            seen[passes] = ["scaled_dot_product_attention" in t or "flash_attention" in t for t in (text, joint, contents(halves[0]).decode())]
            seen[passes] += ["attention" in kinds, "attention" in trained]
        self.assertEqual(seen, {"on": [True] * 5, "off": [False] * 5})

    def test_a_joint_graph_without_backward_is_all_forward(self):
        g = self.file("j.clv", "graph @main(%x: input f32[4], %t: tangent f32[4]) {\n  %y = sin(%x)\n  return %y\n}\n")
        for mode in ("exact", "default", "pytorch"):
            f, b = self.path(mode + "f.clv"), self.path(mode + "b.clv")
            r = cleave("partition", g, "--mode", mode, "--json", "--forward", f, "--backward", b)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual((json.loads(r.stdout)["saved"], cleave("check", f).returncode, cleave("check", b).returncode), ([], 0, 0))
        for line in (["frontier", g], ["kernels", g, "--grad"], ["run", g, "--random", "--mode", "pytorch"]): self.assertEqual(cleave(*line).returncode, 0, line)


if __name__ == "__main__":
    unittest.main()
