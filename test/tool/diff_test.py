#!/usr/bin/env python3
"""cleave diff: the first stage that differs, and what both programs cost.

    python3 test/tool/diff_test.py CLEAVE_BINARY
"""
import json, unittest

from command_case import Case, cleave

ONE = """graph @main(%x: input f32[4,8]) {
  %y = relu(%x)
  %z = exp(%y)
  return %z
}
"""
TWICE = ONE.replace("%z = exp(%y)", "%r = relu(%y)\n  %z = exp(%r)")
SUM = ONE.replace("%z = exp(%y)", "%z = sum(%y; dim=[1])")


class Diff(Case):
    def diff(self, a, b, *args):
        r = cleave("diff", self.file("a.clv", a), self.file("b.clv", b), "--json", *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def test_names_and_lines_make_no_difference(self):
        other = ONE.replace("%y", "%first").replace("exp(%first)", "exp(%first)  # model.cpp:12")
        out = self.diff(ONE, other)
        self.assertEqual((out["same"], out["stage"], out["same_from"], out["line"]), (True, "", "", 0))
        self.assertEqual(out["a"]["kernels"], out["b"]["kernels"])
        self.assertGreater(out["a"]["run_ms"], 0)

    def test_what_passes_make_equal_differs_until_then(self):
        out = self.diff(ONE, TWICE, "--repeat", "0")
        self.assertFalse(out["same"])
        self.assertEqual((out["stage"], out["line"]), ("graph", 3))
        self.assertIn("exp(%y)", out["line_a"])
        self.assertIn("relu(%y)", out["line_b"])
        self.assertEqual(out["same_from"], "joint")
        self.assertEqual((out["a"]["calls"], out["b"]["calls"]), (2, 3))
        for key in ("kernels", "moved_bytes", "planned_peak_bytes"):
            self.assertEqual(out["a"][key], out["b"][key], key)
        self.assertIsNone(out["a"]["run_ms"])

    def test_other_programs_stay_different(self):
        out = self.diff(ONE, SUM)
        self.assertEqual((out["same"], out["stage"], out["same_from"]), (False, "graph", ""))
        self.assertGreater(out["a"]["moved_bytes"], out["b"]["moved_bytes"])

    def test_the_same_graph_with_other_options(self):
        out = self.diff(TWICE, TWICE, "--b", "passes_off=all", "--repeat", "0")
        self.assertEqual((out["same"], out["stage"]), (False, "joint"))
        self.assertNotIn("relu(%y)", out["line_a"])
        self.assertIn("relu(%y)", out["line_b"])

    def test_forward_and_backward(self):
        trained = ONE.replace("input f32[4,8]", "input f32[4,8] grad")
        out = self.diff(trained, trained, "--grad", "--repeat", "0")
        self.assertTrue(out["same"])
        self.assertGreater(out["a"]["calls"], 2)

    def test_text_for_people(self):
        r = cleave("diff", self.file("a.clv", ONE), self.file("b.clv", TWICE))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("they differ from stage graph on, and are the same again from joint on; there first in line 3:", r.stdout)
        self.assertRegex(r.stdout, r"calls +2 +3 +\+50\.0%")
        r = cleave("diff", self.path("a.clv"), self.path("a.clv"), "--repeat", "0")
        self.assertTrue(r.stdout.startswith("the same in every stage\n"), r.stdout)

    def test_errors_name_the_side(self):
        a = self.file("a.clv", ONE)
        for args, words in (([a, self.file("bad.clv", "graph")], "B: "), ([self.path("none.clv"), a], "none.clv"),
                            ([a, a, "--a", "no_such=1"], "A: "), ([a, a, "--repeat", "-1"], "--repeat -1"),
                            ([a, a, "--b", "target=x86-64-v9"], "B: ")):
            r = cleave("diff", *args)
            self.assertEqual(r.returncode, 1, r.stdout)
            self.assertIn(words, r.stderr)


if __name__ == "__main__": unittest.main()
