#!/usr/bin/env python3
"""cleave tune, and target files wherever a target can be named.

    python3 test/tool/tune_test.py CLEAVE_BINARY
"""
import json, unittest

from command_case import MLP, TINY, Case, cleave, contents, losses

RATES = ("product_gflops", "half_product_gflops", "pointwise_gflops", "memory_gigabytes", "cache_gigabytes", "call_ns", "cache_bytes")


class Tune(Case):
    def test_what_it_writes_is_a_target(self):
        path = self.path("this.target")
        r = cleave("tune", "-o", path, "--threads", 1, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        rates = json.loads(r.stdout)
        for name in RATES: self.assertGreater(rates[name], 0, name)
        lines = contents(path).decode().splitlines()
        self.assertEqual(lines[0], "cleave-target 1")
        self.assertEqual({l.split()[0] for l in lines[2:]}, set(RATES))
        g = self.file("mlp.clv", MLP)
        for line in (["run", g, "--random", "--grad"], ["compile", g], ["kernels", g, "--grad"], ["frontier", g]):
            r = cleave(*line, "--target", path)
            self.assertEqual(r.returncode, 0, (line, r.stderr))

    def test_a_graph_s_library_calls(self):
        g = self.file("mlp.clv", MLP)
        path = self.path("graph.target")
        r = cleave("tune", g, "--grad", "-o", path, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(json.loads(r.stdout)["answers"], {})  # a processor's library has one way
        r = cleave("run", g, "--random", "--target", path)
        self.assertEqual(r.returncode, 0, r.stderr)
        named = self.file("named.target", contents(path).decode() + "answer product,of,another 3\n")
        r = cleave("run", g, "--random", "--target", named)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.refused(cleave("tune", self.path("none.clv")), 1, "none.clv")
        self.refused(cleave("tune", g, "--device", "cuda:9"), 2, "cleave: not supported: ")

    def test_rates_change_plans_not_bits(self):
        slow = self.file("slow.target", "cleave-target 1\nset native\npointwise_gflops 0.01\nmemory_gigabytes 1000\n")
        line = ["train", "--text", self.text, *TINY, "--json", "--steps", "3", "--target"]
        common, other = cleave(*line, "native"), cleave(*line, slow)
        self.assertEqual((common.returncode, other.returncode), (0, 0), common.stderr + other.stderr)
        self.assertEqual(losses(common), losses(other))

    def test_what_is_no_target_is_refused(self):
        g = self.file("mlp.clv", MLP)
        bad = self.file("bad.target", "cleave-target 1\nset native\ncall_ns fast\n")
        self.refused(cleave("compile", g, "--target", bad), 1, bad, "line 3: call_ns: `fast`, expected a number above 0")
        self.refused(cleave("compile", g, "--target", self.path("none.target")), 1, "none.target", "No such file")
        self.refused(cleave("compile", g, "--target", g), 1, "line 1: expected `cleave-target 1`")
        self.refused(cleave("tune", "-o", self.path("no/folder")), 1, "no/folder")


if __name__ == "__main__":
    unittest.main()
