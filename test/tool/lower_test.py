#!/usr/bin/env python3
"""cleave lower: regions, what stays outside, and running both.

    python3 test/tool/lower_test.py CLEAVE_BINARY
"""
import json, unittest

from command_case import Case, cleave, tensors

ATTENTION = """graph @main(%x: input f32[6,4] grad, %w: param f32[4,4] grad) {
  %q = mm(%x, %w)
  %t = permute(%q; dims=[1,0])
  %m = mm(%q, %t)
  %p = _softmax(%m; dim=1, half_to_float=false)
  %a = mm(%p, %x)
  %r = relu(%a)
  %y = add(%r, %x)
  return %y
}
"""


class Lower(Case):
    def setUp(self):
        super().setUp()
        self.g = self.file("attention.clv", ATTENTION)

    def json_of(self, *args):
        r = cleave("lower", self.g, "--json", *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def test_names_regions_and_what_is_outside(self):
        out = self.json_of("--refuse", "_softmax", "--least-calls", "1")
        self.assertEqual([(r["tag"], r["calls"]) for r in out["regions"]], [("subgraph", 2), ("subgraph", 3)])
        self.assertEqual([(c["name"], c["op"], c["reason"]) for c in out["outside"]],
                         [("p", "_softmax", "user predicate")])
        self.assertIsNone(out["regions"][0]["run_ms"])
        few = self.json_of("--refuse", "_softmax")
        self.assertEqual(few["regions"], [])
        self.assertEqual(few["outside"][0]["reason"], "a region of 2 calls, fewer than 10")

    def test_runs_forward_and_backward_as_the_whole(self):
        whole, parts, given = self.path("whole.safetensors"), self.path("parts.safetensors"), self.path("in.safetensors")
        low = self.path("low.clv")
        r = cleave("run", self.g, "--random", "--seed", "3", "--grad", "--out", whole, "--cache", "off")
        self.assertEqual(r.returncode, 0, r.stderr)
        for grouping in ("runs", "convex"):
            out = self.json_of("--refuse", "_softmax,_softmax_backward_data", "--least-calls", "1", "--random", "--seed", "3",
                               "--grad", "--out", parts, "--grouping", grouping, "-o", low, "--repeat", "2")
            self.assertGreater(out["regions"][0]["compile_ms"], 0)
            self.assertGreater(out["outside"][0]["run_ms"], 0)
            a, b = tensors(whole), tensors(parts)
            self.assertEqual(sorted(a), ["grad.w", "grad.x", "out.0"])
            self.assertEqual(sorted(b), sorted(a))
            for name in a:
                for x, y in zip(a[name], b[name]):
                    self.assertAlmostEqual(x, y, delta=1e-5 * max(1, *map(abs, a[name])))
            self.assertEqual(cleave("check", low).returncode, 0)

    def test_prints_a_table_for_people(self):
        r = cleave("lower", self.g, "--refuse", "_softmax", "--least-calls", "1", "--random")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(r.stdout.startswith("5 of 6 calls in 2 regions (83.3 %)\n"), r.stdout)
        self.assertIn("%p = _softmax: user predicate", r.stdout)

    def test_draws_before_and_after_a_pass(self):
        before, after, dot = self.path("a.svg"), self.path("b.svg"), self.path("g.dot")
        for args in ((before,), (after, "--pass", "decompose_nothing"), (dot, "--plain")):
            r = cleave("draw", self.g, "-o", *args)
            if "decompose_nothing" in args:
                self.refused(r, 1, "decompose_nothing")
            else:
                self.assertEqual(r.returncode, 0, r.stderr)
        with open(before) as f: self.assertIn("_softmax", f.read())
        with open(dot) as f: self.assertTrue(f.read().startswith('digraph "main" {'))
        self.refused(cleave("draw", self.g, "-o", self.path("g.png")), 1, ".svg or .dot")

    def test_refuses_nonsense(self):
        self.refused(cleave("lower", self.g, "--refuse", "_softmx"), 1, "_softmx", "_softmax")
        self.refused(cleave("lower", self.g, "--grouping", "all"), 1, "--grouping all", "runs or convex")
        self.refused(cleave("lower", self.g, "--least-calls", "0"), 1, "--least-calls 0")
        self.refused(cleave("lower", self.g, "--on-failure", "never"), 1, "--on-failure never")
        self.refused(cleave("lower", self.g, "--out", self.path("o.safetensors")), 1, "--in or --random")
        self.refused(cleave("lower", self.path("none.clv")), 1, "none.clv")


if __name__ == "__main__":
    unittest.main()
