#!/usr/bin/env python3
"""Strides and devices through the `cleave` command.

    python3 test/tool/layout_test.py CLEAVE_BINARY
"""
import json, os, random, re, struct, sys, unittest

from command_case import Case, cleave, contents, tensors

# Two layers and a running mean; {0} to {9} are the strides of placeholders and results.
STEP = """graph @main(%x: input f32[6,5]{0}, %w: param f32[8,5]{1} grad, %b: param f32[8]{2} grad,
            %v: param f32[1,8,3]{3} grad, %m: buffer f32[3]{4}, %c: const f32[6,3]{5}) {{
  %t = permute(%w; dims=[1,0])
  %h = addmm(%b, %x, %t) : f32[6,8]{6}
  %a = gelu(%h)
  %k = squeeze(%v; dim=[0])
  %p = mm(%a, %k)
  %d = sub(%p, %c) : f32[6,3]{7}
  %s = _softmax(%d; dim=1, half_to_float=false) : f32[6,3]{8}
  %l = mean(%s; dim=[0]) : f32[3]{9}
  %n = add(%m, %l; alpha=0.5)
  return %s, %d, %l, %n -> %m
}}
"""
SHAPES = {"x": [6, 5], "w": [8, 5], "b": [8], "v": [1, 8, 3], "m": [3], "c": [6, 3]}
DENSE = STEP.format(*[""] * 10)
STRIDED = [
    STEP.format("{1,6}", "{7,1}", "{2}", "{99,1,8}", "{3}", "{0,1}", "{1,6}", "{4,1}", "{1,7}", "{2}"),
    STEP.format("{0,2}", "{1,8}", "{1}", "{0,3,1}", "", "{3,1}", "", "{1,6}", "{17,5}", ""),
    STEP.format("{1,1}", "{5,1}", "{0}", "{7,1,9}", "{1000}", "{1,9}", "{9,1}", "", "{1,6}", "{7}"),
]
# Elements that share a place are equal in all three.
VALUES = {"x": lambda i: 0.5, "c": lambda i: 0.25 * (i % 3), "b": lambda i: -0.125}


def safetensors(arrays, shapes):
    entries, data = {}, b""
    for name, numbers in arrays.items():
        raw = struct.pack("<%df" % len(numbers), *numbers)
        entries[name] = {"dtype": "F32", "shape": shapes[name], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header + data


class Strides(Case):
    def setUp(self):
        super().setUp()
        drawn = random.Random(5)
        arrays = {}
        for name, shape in SHAPES.items():
            count = 1
            for n in shape: count *= n
            value = VALUES.get(name, lambda i: drawn.uniform(-1, 1))
            arrays[name] = [value(i) for i in range(count)]
        self.inputs = self.file("in.safetensors", safetensors(arrays, SHAPES))

    def run_on(self, text, *options):
        graph, out = self.file("g.clv", text), os.path.join(self.folder.name, "out.safetensors")
        r = cleave("run", graph, "--in", self.inputs, "--out", out, *options)
        self.assertEqual(r.returncode, 0, r.stderr)
        return tensors(out)

    def test_results_are_those_of_the_dense_graph_under_every_option(self):
        for options in [[], ["--grad"], ["--engine", "reference", "--grad"], ["--fuse", "off", "--grad"],
                        ["--passes", "off", "--grad"], ["--strict", "--grad"], ["--compiler", "none", "--grad"],
                        ["--mode", "pytorch", "--grad"], ["--mode", "pytorch", "--budget", "0.5", "--grad"],
                        ["--mode", "default", "--grad"], ["--budget", "100%", "--grad"], ["--threads", "1"],
                        ["--threads", "3", "--repeat", "3", "--grad"], ["--autocast", "bf16", "--grad"]]:
            dense = self.run_on(DENSE, *options)
            for text in STRIDED:
                self.assertEqual(self.run_on(text, *options), dense, (options, text))

    def test_peak_counts_what_lies_between(self):
        graph = self.file("g.clv", "graph @main(%x: input f32[2,3]{1000000,1}) {\n  %y = sin(%x)\n  return %y\n}\n")
        r = cleave("run", graph, "--random", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        figures = json.loads(r.stdout)
        self.assertEqual(figures["planned_peak_bytes"], figures["peak_bytes"])
        self.assertGreater(figures["peak_bytes"], 4000000)

    def test_halves_and_joint_graphs_keep_strides_and_run(self):
        for text in STRIDED:
            graph = self.file("g.clv", text)
            f, b, j = (os.path.join(self.folder.name, n) for n in ("f.clv", "b.clv", "j.clv"))
            for mode in ("exact", "default", "pytorch"):
                r = cleave("partition", graph, "--mode", mode, "--forward", f, "--backward", b)
                self.assertEqual(r.returncode, 0, r.stderr)
                for half in (f, b):
                    r = cleave("run", half, "--random")
                    self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(cleave("grad", graph, "-o", j).returncode, 0)
            self.assertIn(text.split("%w: param ")[1].split(" ")[0], contents(j).decode())
            for command in (["kernels", j], ["kernels", graph, "--grad", "--time", "1"], ["frontier", graph],
                            ["compile", graph, "--dump", os.path.join(self.folder.name, "dump")],
                            ["partition", graph, "--mode", "pytorch", "--estimator", "profile"]):
                r = cleave(*command)
                self.assertEqual(r.returncode, 0, (command, r.stderr))

    def test_what_memory_cannot_hold_is_refused(self):
        one = "graph @main(%%x: %s) {\n  %%y = sin(%%x)\n  return %%y%s\n}\n"
        for kind, returned, said in [
                ("input f32[2,3]{1152921504606846976,1}", "", "lies over more than 2^60 bytes"),
                ("input f32[2,3]{4611686018427387904,1}", "", "is outside [0, 2^60]"),
                ("input f32[2,3]{1125899906842624,1}", "", "lies over 4503599627370508 bytes, which can't be had"),
                ("input f32[2,3]{-1,1}", "", "is outside [0, 2^60]"),
                ("buffer f32[2,3]{0,1}", " -> %x", "elements of f32[2,3]{0,1} lie in one place"),
                ("buffer f32[2,3]{2,1}", " -> %x", "elements of f32[2,3]{2,1} lie in one place")]:
            for engine in ("compiled", "reference"):
                r = cleave("run", self.file("g.clv", one % (kind, returned)), "--random", "--engine", engine)
                if "can't be had" in said and engine == "reference": continue  # it lays nothing anywhere
                self.assertEqual(r.returncode, 1, (kind, engine, r.stderr))
                self.assertIn(said, r.stderr)
        r = cleave("check", self.file("g.clv", "graph @main(%x: input f32[2,3]) {\n"
                                      "  %y = sin(%x) : f32[2,3]{1,1}\n  return %y\n}\n"))
        self.assertEqual(r.returncode, 1)
        self.assertIn("V14", r.stderr)

    def test_elements_that_share_a_place_must_be_equal(self):
        graph = self.file("g.clv", "graph @main(%x: input f32[2,3]{0,1}) {\n  %y = sin(%x)\n  return %y\n}\n")
        given = self.file("x.safetensors", safetensors({"x": [1, 2, 3, 1, 5, 3]}, {"x": [2, 3]}))
        for engine in ("compiled", "reference"):
            r = cleave("run", graph, "--in", given, "--engine", engine)
            self.assertEqual(r.returncode, 1)
            self.assertIn("elements [0,1] and [1,1] share their memory in f32[2,3]{0,1}, but are 2 and 5", r.stderr)


class Devices(Case):
    FAR = """graph @main(%w: param f32[4,3]@cuda:0 grad, %x: input f32[2,4]@cuda:0) {
  %y = mm(%x, %w)
  %r = relu(%y)
  return %r
}
"""

    def check_runs(self, *command):
        """It runs on the device, or says what of it is missing here."""
        r = cleave(*command)
        if r.returncode != 0:
            self.assertEqual(r.returncode, 2, (command, r.stdout, r.stderr))
            self.assertIn("can be planned and compiled here, not run", r.stderr)

    def test_nothing_runs_on_the_cpu_instead(self):
        graph = self.file("g.clv", self.FAR)
        for command in (["run", graph, "--random"], ["run", graph, "--random", "--grad", "--budget", "50%"],
                        ["run", graph, "--random", "--grad", "--mode", "pytorch"],
                        ["run", graph, "--random", "--fuse", "off"], ["kernels", graph, "--time", "1"]):
            self.check_runs(*command)

    def test_what_does_not_run_them_keeps_the_device(self):
        graph, out = self.file("g.clv", self.FAR), os.path.join(self.folder.name, "o.clv")
        f, b = (os.path.join(self.folder.name, n) for n in ("f.clv", "b.clv"))
        for command, files in ((["check", graph], []), (["print", graph], []), (["grad", graph, "-o", out], [out]),
                               (["opt", graph, "--pass", "drop_noop,merge_equal", "-o", out], [out]),
                               (["partition", graph, "--forward", f, "--backward", b], [f, b]),
                               (["frontier", graph], []), (["run", graph, "--random", "--engine", "reference"], [])):
            r = cleave(*command)
            self.assertEqual(r.returncode, 0, (command, r.stderr))
            for name in files:
                text = contents(name).decode()
                self.assertEqual(len(re.findall(r"(f32|bool)\[", text)), text.count("@cuda:0"), text)

    def test_a_graph_moves_to_the_device_that_is_named(self):
        far = self.file("g.clv", self.FAR)
        near = self.file("n.clv", self.FAR.replace("@cuda:0", ""))
        for command in (["run", "--random"], ["run", "--random", "--grad"], ["kernels"], ["frontier"],
                        ["compile"], ["lower", "--random", "--least-calls", "1"]):
            r = cleave(command[0], far, *command[1:], "--device", "cpu")
            self.assertEqual(r.returncode, 0, (command, r.stderr))
            if command[0] in ("run", "lower"):
                self.check_runs(command[0], near, *command[1:], "--device", "cuda:0")
            r = cleave(command[0], near, *command[1:], "--device", "gpu")
            self.assertEqual(r.returncode, 1, (command, r.stderr))
            self.assertIn("--device gpu: expected cpu, cuda or cuda:N", r.stderr)
        r = cleave("run", far, "--random", "--json", "--device", "cpu")
        self.assertEqual(json.loads(r.stdout)["device"], "cpu")

    def test_what_is_made_on_the_cpu_for_the_device_moves_there(self):
        mixed = self.FAR.replace("  %r = relu(%y)\n", "  %i = arange(; end=2)\n  %o = ones(; size=[2,3])\n"
                                 "  %p = _to_copy(%o; device=\"cuda:0\")\n  %z = index(%y, [%i])\n  %r = mul(%z, %p)\n")
        graph = self.file("g.clv", mixed)
        for command in (["kernels", graph], ["kernels", graph, "--grad"]):
            r = cleave(*command)
            self.assertEqual(r.returncode, 0, (command, r.stderr))
        self.check_runs("run", graph, "--random")
        for extra in ((), ("--grad",)): self.assertEqual(cleave("run", graph, "--random", "--device", "cpu", *extra).returncode, 0)

    def test_a_copy_between_devices_is_named_with_both(self):
        graph = self.file("g.clv", self.FAR.replace("%x: input f32[2,4]@cuda:0", "%v: input f32[2,4]").replace(
            "  %y =", "  %x = _to_copy(%v; device=\"cuda:0\")\n  %y ="))
        r = cleave("kernels", graph)
        self.refused(r, 2, "%v is f32[2,4], and its copy is f32[2,4]@cuda:0: a copy from device to device", "--device")
        self.assertEqual(cleave("kernels", graph, "--device", "cuda:0").returncode, 0)
        self.assertEqual(cleave("run", graph, "--random", "--device", "cpu").returncode, 0)

    def test_mixed_devices_in_one_call_are_the_caller_s_mistake(self):
        r = cleave("check", self.file("g.clv", self.FAR.replace("f32[2,4]@cuda:0", "f32[2,4]")))
        self.assertEqual(r.returncode, 1)
        self.assertIn("mm: C5: self is f32[2,4] and mat2 is f32[4,3]@cuda:0, expected one device", r.stderr)


if __name__ == "__main__":
    unittest.main()
