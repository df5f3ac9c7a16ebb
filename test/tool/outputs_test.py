#!/usr/bin/env python3
"""Files that a command writes, and how it refuses what would lose them.

    python3 test/tool/outputs_test.py CLEAVE_BINARY
"""
import json, os, subprocess, unittest

from command_case import CLEAVE, MLP, TINY, Case, cleave, contents, tensors

REMAT = json.dumps({"graph": {}, "nodes": [{"id": k, "cost_ram": 4, "cost_cpu": 1} for k in range(3)],
                    "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]})


class Outputs(Case):
    def lines(self):
        """A line of each command that prints, and of each form in which it does."""
        g, r, b = self.file("m.clv", MLP), self.file("r.json", REMAT), self.file("b.csv", "id,lower,upper,size\na,0,2,4\n")
        x = self.path("x.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--out", x).returncode, 0)
        return [["help"], ["help", "run"], ["check", g, "--json"], ["print", g], ["grad", g], ["run", g, "--random"], ["run", g, "--random", "--json"],
                ["run", g, "--random", "--out", "-"], ["partition", g], ["partition", g, "--json"], ["partition", g, "--explain"],
                ["partition", g, "--forward", "-"], ["frontier", g], ["frontier", g, "--json"], ["kernels", g], ["kernels", g, "--json"],
                ["compile", g], ["compile", g, "--json"], ["remat", r, "--peak-percent", 100], ["remat", r, "--peak-percent", 100, "--json"],
                ["plan", b], ["plan", b, "--json"], ["plan", b, "-o", "-"], ["opt", "--list"], ["opt", "--list", "--json"], ["opt", g], ["opt", g, "--json"],
                ["report", g, "-o", "-", "--time", 0], ["run", g, "--random", "--trace", "-"], ["partition", g, "--statistics"],
                ["train", "--text", self.text, "--steps", 2, *TINY], ["train", "--text", self.text, "--steps", 2, "--json", *TINY]]

    def run_to(self, line, stdout):
        """stdout: full, closed, or gone: a pipe that nobody reads."""
        if stdout == "full": end = os.open("/dev/full", os.O_WRONLY)
        else:
            reader, end = os.pipe()
            os.close(reader)
        try:
            return subprocess.run([CLEAVE, *map(str, line)], stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.PIPE, text=True, timeout=120,
                                  preexec_fn=(lambda: os.close(1)) if stdout == "closed" else None)
        finally: os.close(end)

    def test_results_that_stdout_loses_are_an_error(self):
        for line in self.lines():
            for stdout in ("full", "closed", "gone"):
                with self.subTest(line=line[:4], stdout=stdout):
                    r = self.run_to(line, stdout)
                    self.assertEqual(r.returncode, 1, r.stderr)
                    self.assertIn("cleave: error: stdout: cannot write", r.stderr)

    def test_who_has_nothing_to_say_needs_no_stdout(self):
        for stdout in ("full", "closed", "gone"):
            self.assertEqual(self.run_to(["check", self.file("m.clv", MLP)], stdout).returncode, 0)

    # The first file that a command opens would otherwise be its stdout.
    def test_a_closed_stdout_is_no_file(self):
        g, j = self.file("m.clv", MLP), self.path("j.clv")
        self.refused(self.run_to(["grad", g, "-o", j, "--json"], "closed"), 1, "cannot write")
        self.assertEqual((contents(g), cleave("check", j).returncode), (MLP.encode(), 0))
        self.refused(self.run_to(["grad", g, "-o", "/dev/stdout"], "closed"), 1, "/dev/stdout")

    def test_training_stops_where_nobody_reads_and_keeps_its_checkpoint(self):
        c = self.path("c.safetensors")
        self.refused(self.run_to(["train", "--text", self.text, "--steps", 100000, "--json", "--out", c, *TINY], "full"), 1, "cannot write")
        self.assertIn("blocks.0.qkv.weight", tensors(c))

    def test_results_on_stdout_stand_alone(self):
        g, x = self.file("m.clv", MLP), self.path("x.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--out", x).returncode, 0)
        with open(self.path("y.safetensors"), "wb") as f: subprocess.run([CLEAVE, "run", g, "--random", "--out", "-"], stdout=f, check=True)
        piped = subprocess.run([CLEAVE, "run", g, "--random", "--out", "-"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(contents(self.path("y.safetensors")), contents(x))
        self.assertEqual(piped, contents(x))
        half = cleave("partition", g, "--forward", "-")
        self.assertEqual(cleave("check", "-", stdin=half.stdout).returncode, 0)
        self.assertIn("values saved", half.stderr)
        self.assertEqual(set(json.loads(cleave("opt", "--list", "--json").stdout)["passes"][0]), {"name", "stage", "rules", "asked", "summary"})

    def test_two_things_are_not_on_one_stdout_or_stdin(self):
        g, b = self.file("m.clv", MLP), self.file("b.csv", "id,lower,upper,size\na,0,2,4\n")
        for line in (["plan", b, "-o", "-"], ["grad", g, "-o", "-"], ["opt", g, "-o", "-"], ["run", g, "--random", "--out", "-"], ["partition", g, "--forward", "-"],
                     ["partition", g, "--backward", "/dev/stdout"], ["report", g, "-o", "-"], ["run", g, "--random", "--trace", "-"]):
            self.refused(cleave(*line, "--json"), 1, "both would go to stdout")
        self.refused(cleave("partition", g, "--forward", "-", "--backward", "-"), 1, "both would go to stdout")
        self.refused(cleave("run", "-", "--in", "-", stdin=MLP), 1, "both stdin")

    def test_two_results_never_share_a_file(self):
        g, f = self.file("m.clv", MLP), self.path("f.clv")
        for other in (f, os.path.join(self.folder.name, ".", "f.clv")):
            self.refused(cleave("partition", g, "--forward", f, "--backward", other), 1, "--forward", "--backward", "name one file")
            self.assertFalse(os.path.exists(f))
        self.file("f.clv", "kept")
        os.symlink(f, self.path("link.clv"))
        os.link(f, self.path("hard.clv"))
        for other in ("link.clv", "hard.clv"): self.refused(cleave("partition", g, "--forward", f, "--backward", self.path(other)), 1, "name one file")
        self.assertEqual(contents(f), b"kept")
        self.assertEqual(cleave("partition", g, "--forward", "/dev/null", "--backward", "/dev/null").returncode, 0)
        self.refused(cleave("train", "--text", self.text, "--out", f, "--save-init", f, *TINY), 1, "name one file")

    def test_inputs_are_not_lost(self):
        g, x = self.file("m.clv", MLP), self.path("x.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--out", x).returncode, 0)
        for line in (["grad", g, "-o", g], ["run", g, "--random", "--out", g], ["partition", g, "--backward", g], ["run", g, "--in", x, "--out", x],
                     ["train", "--text", self.text, "--out", self.text]):
            self.refused(cleave(*line), 1, "which would be lost")
        self.assertEqual(contents(g), MLP.encode())
        self.assertEqual(cleave("opt", g, "-o", g).returncode, 0)  # the same program
        self.refused(cleave("train", "--text", self.text, "--out", "-", *TINY), 1, "--out -")


if __name__ == "__main__":
    unittest.main()
