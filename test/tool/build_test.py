#!/usr/bin/env python3
"""cleave build: files, JSON, dependencies and errors.

    python3 test/tool/build_test.py CLEAVE_BINARY
"""
import json, os, shutil, struct, subprocess, unittest

from command_case import FOREIGN, TARGETS, Case, cleave

GRAPH = """graph @main(%x: input f32[4,8], %w: param f32[8,16] grad, %c: const f32[16]) {
  %h = mm(%x, %w) : f32[4,16]
  %a = add(%h, %c) : f32[4,16]
  %t = tanh(%a) : f32[4,16]
  return %t
}
"""


class Build(Case):
    def setUp(self):
        super().setUp()
        with open(self.path("g.clv"), "w") as f: f.write(GRAPH)

    def weights(self, **shapes):
        """A file of ones."""
        header, end = {}, 0
        for name, shape in shapes.items():
            count = 1
            for n in shape: count *= n
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + 4 * count]}
            end += 4 * count
        text = json.dumps(header).encode()
        with open(self.path("w.safetensors"), "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text + struct.pack("<f", 1) * (end // 4))
        return self.path("w.safetensors")

    def build(self, *words, status=0):
        r = cleave("build", self.path("g.clv"), "-o", self.path("step.so"), *words)
        self.assertEqual(r.returncode, status, r.stderr)
        return r

    def describe(self):
        with open(self.path("step.json")) as f: return json.load(f)

    def test_three_files_and_the_figures(self):
        out = json.loads(self.build("--in", self.weights(w=[8, 16], c=[16]), "--json").stdout)
        self.assertLessEqual({"bytes", "code_bytes", "build_ms"}, set(out))
        self.assertEqual(out["bytes"], os.path.getsize(self.path("step.so")))
        self.assertLessEqual(out["bytes"] - out["code_bytes"] - out["weight_bytes"], 3 << 20)
        about = self.describe()
        self.assertEqual(about["key"], out["key"])
        self.assertEqual([t["name"] for t in about["inputs"]], ["x"])
        self.assertEqual([t["name"] for t in about["outputs"]], ["out.0"])
        self.assertEqual([t["name"] for t in about["state"]], ["w"])
        self.assertEqual([t["name"] for t in about["constants"]], ["c"])
        with open(self.path("step.h")) as f: self.assertIn("step_set_constants(", f.read())

    def test_gradients_and_cotangents(self):
        self.build("--grad")
        about = self.describe()
        self.assertEqual([t["name"] for t in about["inputs"]], ["x", "cotangent.0"])
        self.assertEqual([t["name"] for t in about["outputs"]], ["out.0", "grad.w"])
        self.assertEqual(about["weights"], "none")

    @unittest.skipUnless(shutil.which("readelf"), "no readelf")
    def test_it_needs_libc_and_libm_alone(self):
        self.build()
        said = subprocess.run(["readelf", "-d", self.path("step.so")], stdout=subprocess.PIPE, text=True).stdout
        needed = {line.split("[")[1].split("]")[0] for line in said.splitlines() if "(NEEDED)" in line}
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6"})

    def test_names(self):
        self.build("--name", "my_step")
        with open(self.path("step.h")) as f: self.assertIn("my_step_run(", f.read())
        self.assertIn("the name `for`: expected an identifier of C", self.build("--name", "for", status=1).stderr)

    def test_by_the_key_where_no_file_is_named(self):
        r = cleave("build", self.path("g.clv"), "--json", "-o", self.path("") + "/")
        self.assertEqual(r.returncode, 0, r.stderr)
        out = json.loads(r.stdout)
        self.assertTrue(os.path.exists(self.path(out["key"] + ".so")))

    def test_weights_that_are_missing_or_wrong(self):
        w = self.weights(w=[8, 16])
        self.assertIn("`c` (const) has no value", self.build("--in", w, status=1).stderr)
        self.assertIn("`w` (parameter) has no value", self.build("--weights", "beside", status=1).stderr)
        w = self.weights(w=[16, 8], c=[16])
        self.assertIn("`w` is given as f32[16,8], expected f32[8,16]", self.build("--in", w, status=1).stderr)
        self.assertIn("--weights somewhere: expected inside, beside or none",
                      self.build("--weights", "somewhere", status=1).stderr)
        self.assertFalse(os.path.exists(self.path("step.so")))

    def test_beside(self):
        self.build("--in", self.weights(w=[8, 16], c=[16]), "--weights", "beside")
        self.assertEqual(self.describe()["weight_file"], "step.safetensors")
        self.assertTrue(os.path.exists(self.path("step.safetensors")))

    def test_a_machine_without_a_linker_is_told_what_to_install(self):
        r = cleave("build", self.path("g.clv"), "-o", self.path("step.so"), env={"PATH": self.path("")})
        self.assertEqual(r.returncode, 2, r.stderr)
        # Without the plug-in, what compiles kernels is missed before what links them.
        self.assertRegex(r.stderr, "there is no `cc` in PATH: install gcc|in PATH: install a C compiler")

    def test_frozen_parameters_are_constants(self):
        with open(self.path("g.clv"), "w") as f: f.write(GRAPH.replace(" grad", ""))
        self.build("--freeze")
        self.assertEqual([t["name"] for t in self.describe()["constants"]], ["w", "c"])
        self.assertEqual(self.describe()["state"], [])

    def test_sizes(self):
        with open(self.path("g.clv"), "w") as f:
            f.write(GRAPH.replace("@main(", "@main(%n: symint range(1,64), ").replace("[4,", "[n,"))
        self.build("--grad", "--size", "n=1,64,8")
        about = self.describe()
        self.assertEqual(about["sizes"], [{"name": "n", "least": 1, "most": 64}])
        self.assertEqual([h["sizes"]["n"] for h in about["held"]], [1, 8, 64])
        self.assertEqual(about["held"][1]["outputs"], [[8, 16], [8, 16]])
        self.assertEqual([t["dims"] for t in about["inputs"]], [["n", 8], ["n", 16]])
        self.assertEqual([t["name"] for t in about["state"] + about["constants"]], ["w", "c"])
        self.build("--size", "n=8")
        self.assertEqual(self.describe()["inputs"][0]["shape"], [8, 8])
        for words, text in (((), "build: n is 1 to 64: these are 64 sizes, and a library holds at most 32 that aren't named; "
                             "give those that it is to hold: --size n=1,..."),
                            (("--size", "n=65"), "build: n=65 is asked for, expected 1 to 64"),
                            (("--size", "m=2"), "--size m=2: @main has no symint %m"),
                            (("--size", "8"), "--size 8: expected NAME=NUMBER, such as s0=64"),
                            (("--size", "n=8,x"), "--size x: expected NAME=NUMBER, such as s0=64"),
                            (("--size", "n=8,n=9"), "--size n=9: %n has a value already, 8")):
            self.assertIn(text, self.build(*words, status=1).stderr)

    def test_all_of_a_short_range(self):
        with open(self.path("g.clv"), "w") as f:
            f.write(GRAPH.replace("@main(", "@main(%n: symint range(2,4), ").replace("[4,", "[n,"))
        self.build()
        self.assertEqual([h["sizes"]["n"] for h in self.describe()["held"]], [2, 3, 4])

    def test_levels_and_other_targets(self):
        self.build("--cpu", TARGETS[0])
        self.assertEqual(self.describe()["target"], TARGETS[0])
        self.assertNotIn("avx", self.describe()["features"])
        self.build("--target", FOREIGN[0], status=2)
        self.build("--target", "x86-64-v9", status=1)


if __name__ == "__main__":
    unittest.main()
