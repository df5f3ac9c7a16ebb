#!/usr/bin/env python3
"""cleave reduce: planted failures, their limits, what is on disk; and what a defect leaves behind.

    python3 test/tool/reduce_test.py CLEAVE_BINARY

cleave_planted, the command with a defect in it (test/tool/planted/core_ops.cpp), lies beside it.
"""
import json, os, shlex, signal, subprocess, time, unittest

from command_case import CLEAVE, EMULATED, TARGETS, Case, cleave, contents, tensors

PLANTED = os.path.join(os.path.dirname(CLEAVE), "cleave_planted")
BLOCK = """graph @main(%x: input f32[64,32] grad, %w: param f32[32,32] grad, %b: buffer f32[32]) {
  %q = mm(%x, %w)
  %r = relu(%q)
  %h = tanh(%r)
  %v = view(%h; size=[2,32,32])
  %s = add(%v, %b)
  %z = exp(%s)
  %m = mean(%z; dim=[0,1])
  return %z, %m -> %b
}
"""
TANH = "graph @main(%r: input f32[1,1]) {\n  %h = tanh(%r) : f32[1,1]\n  return %h\n}\n"


def planted(plant, *args):
    """Without a cache, in which its wrong code would be found by the command itself."""
    return subprocess.run([PLANTED, *map(str, args)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "CLEAVE_PLANT": plant, "XDG_CACHE_HOME": "/proc/none"})


class Reduce(Case):
    def setUp(self):
        super().setUp()
        self.g = self.file("block.clv", BLOCK)
        self.out = self.path("small.clv")

    def small(self):
        with open(self.out) as f: return f.read()

    def reduced(self, *args, run=cleave, text=TANH, calls=1):
        r = run("reduce", self.g, "-o", self.out, "--json", *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        out = json.loads(r.stdout)
        self.assertEqual((out["calls"], out["given_calls"]), (calls, 7))
        self.assertGreater(out["tries"], 5)
        self.assertGreater(out["seconds"], 0)
        if text: self.assertEqual(self.small(), text)
        return out

    def test_by_a_command(self):
        self.assertEqual(self.reduced("--check", "! grep -q tanh")["failure"], "exit status 1")
        self.assertEqual(self.reduced("--check", "if grep -q tanh {}; then exit 7; fi")["failure"], "exit status 7")
        self.assertIn("signal 9", self.reduced("--check", "grep -q tanh {} && kill -9 $$; true")["failure"])
        self.assertEqual(self.reduced("--limit", "0.5", "--check", "grep -q tanh {} && sleep 100; true")["failure"],
                         "no end within 0.5 s")
        self.assertFalse(os.path.exists(self.path("small.safetensors")))

    @unittest.skipIf(EMULATED, "starts the command again, or limits its memory")
    def test_a_command_has_as_much_memory_as_it_is_given(self):
        self.reduced("--memory", "1GiB", "--check", "test $(ulimit -v) = 1048576 && exit 5; true", text=None, calls=0)

    def test_a_failure_of_another_kind_is_none(self):
        """Without tanh it fails by another status, which is not what is looked for."""
        self.reduced("--check", "grep -q tanh {} && exit 3; exit 4")
        self.reduced("--check", "grep -q tanh {} && exit 3; kill -9 $$")

    def test_a_command_gets_inputs(self):
        check = "test -s {in} && cp {in} %s; ! grep -q exp {}" % self.path("copy")
        out = self.reduced("--check", check, text=None)
        self.assertEqual(out["inputs"], 1)
        self.assertEqual(sorted(tensors(self.path("small.safetensors"))), ["s"])

    @unittest.skipIf(EMULATED, "starts the command again, or limits its memory")
    def test_by_what_the_command_itself_finds(self):
        run = lambda plant: lambda *args: planted(plant, *args)
        out = self.reduced("--check", "wrong", run=run("wrong:tanh"))
        self.assertIn("compare: return 0, %z", out["failure"])
        self.assertEqual(sorted(tensors(self.path("small.safetensors"))), ["r"])
        r = planted("wrong:tanh", "run", self.out, "--in", self.path("small.safetensors"), "--compare")
        self.refused(r, 3, "compare: return 0, %h")
        self.reduced("--check", "wrong", "--grad", run=run("wrong:tanh"))
        self.assertIn("signal 6", self.reduced("--check", "crash", run=run("crash:tanh"))["failure"])
        self.assertIn("planted", self.reduced("--check", "crash", run=run("defect:tanh"))["failure"])

    @unittest.skipIf(EMULATED, "starts the command again, or limits its memory")
    def test_what_is_slow_or_has_no_end(self):
        """Planted are 3 s and a loop without end; else a try takes a tenth of the limit."""
        g = self.file("chain.clv", "graph @main(%x: input f32[8]) {\n  %e = exp(%x)\n  %t = tanh(%e)\n"
                      "  %s = sin(%t)\n  return %s\n}\n")
        for plant, check, limit, failure in (("hang", "crash", ("--limit", "3"), "no end within 3 s"),
                                             ("slow", "slow", (), "half of what the given graph does")):
            r = planted(plant + ":tanh", "reduce", g, "--check", check, "-o", self.out, "--json", *limit)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(failure, json.loads(r.stdout)["failure"])
            self.assertEqual(self.small(), "graph @main(%e: input f32[1]) {\n  %t = tanh(%e) : f32[1]\n  return %t\n}\n")

    @unittest.skipIf(EMULATED, "starts the command again, or limits its memory")
    def test_keeps_the_elements_and_the_two_calls_that_it_takes(self):
        run = lambda *args: planted("crash:exp+tanh:100", *args)
        self.reduced("--check", "crash", run=run, calls=2, text=None)
        self.assertIn("tanh", self.small())
        self.assertIn("exp", self.small())
        self.assertIn("exp(%s) : f32[1,8,16]", self.small())

    @unittest.skipIf(EMULATED, "starts the command again, or limits its memory")
    def test_with_options_and_given_inputs(self):
        self.refused(planted("defect:tanh", "reduce", self.g, "--check", "crash", "-o", self.out, "--options",
                             "strct=true"), 1, "--options", "strct")
        self.reduced("--check", "crash", "--options", "strict=true", "--seed", "4",
                     run=lambda *args: planted("defect:tanh", *args))
        symbolic = self.file("symbolic.clv", "graph @main(%s0: symint range(2,99) hint(9), %x: input f32[s0,4]) {\n"
                             "  %e = exp(%x)\n  %t = tanh(%e)\n  return %t\n}\n")
        for plant, sizes, kept in (("crash:tanh:36", (), "[9,4]"), ("crash:tanh:36", ("--size", "s0=50"), "[25,2]")):
            r = planted(plant, "reduce", symbolic, "--check", "crash", "-o", self.out, *sizes)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(kept, self.small())

    @unittest.skipIf(EMULATED, "starts the command again, or limits its memory")
    def test_what_does_not_fail_is_an_error(self):
        for check in ("true", "wrong", "crash", "slow"):
            self.refused(cleave("reduce", self.g, "--check", check, "-o", self.out), 1, "--check " + check)
            self.assertFalse(os.path.exists(self.out))
        self.refused(cleave("reduce", self.g, "--check", "slow", "--limit", "100", "-o", self.out), 1, "doesn't fail")
        self.refused(cleave("reduce", self.g, "--check", "no_such_command", "-o", self.out), 1, "can't be run")
        self.refused(planted("crash:tanh", "reduce", self.g, "--check", "wrong", "-o", self.out), 1, "signal 6")

    def test_refuses_nonsense(self):
        self.refused(cleave("reduce", self.g, "--check", "crash"), 1, "--out")
        self.refused(cleave("reduce", self.g, "-o", self.out), 1, "--check")
        self.refused(cleave("reduce", self.g, "--check", "", "-o", self.out), 1, "--check")
        self.refused(cleave("reduce", self.g, "--check", "crash", "--limit", "-1", "-o", self.out), 1, "--limit")
        self.refused(cleave("reduce", self.g, "--check", "crash", "--memory", "lots", "-o", self.out), 1, "--memory")
        self.refused(cleave("reduce", self.g, "--check", "crash", "-o", self.g), 1, "block.clv")
        self.refused(cleave("reduce", self.path("none.clv"), "--check", "crash", "-o", self.out), 1, "none.clv")
        self.refused(cleave("reduce", self.g, "--check", "! grep -q tanh", "-o", self.path("no/r.clv")), 1, "no/r.clv")

    def test_writes_to_stdout(self):
        r = cleave("reduce", self.g, "--check", "! grep -q tanh", "-o", "-")
        self.assertEqual((r.returncode, r.stdout), (0, TANH), r.stderr)

    def test_the_best_so_far_is_on_disk_after_sigint(self):
        """The check is quick ten times, and then takes its time."""
        log = self.path("log")
        check = "echo >> %s; test $(wc -l < %s) -le 10 || sleep 60; ! grep -q tanh {}" % (log, log)
        p = subprocess.Popen([CLEAVE, "reduce", self.g, "--check", check, "-o", self.out], stderr=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        while p.poll() is None and not (os.path.exists(log) and len(contents(log)) > 10): time.sleep(0.02)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
        self.assertEqual((p.returncode, out), (130, ""), err)
        self.assertIn("interrupted after 11 tries", err)
        self.assertEqual(cleave("check", self.out).returncode, 0)
        self.assertIn("tanh", self.small())
        self.assertLess(self.small().count(" = "), 7)


class Repro(Case):
    def setUp(self):
        super().setUp()
        self.g = self.file("block.clv", BLOCK)
        self.repros = self.path("my repros")

    def repeated(self, plant, *args):
        """Runs into a defect; the command that it leaves runs into the same."""
        r = planted(plant, *args, "--repro", self.repros)
        self.refused(r, 3, "repeat it with: cleave ")
        command = r.stderr.split("repeat it with: ")[1].strip()
        again = planted(plant, *shlex.split(command)[1:])
        self.assertEqual(again.returncode, 3, again.stderr)
        self.assertEqual(again.stderr, r.stderr.split("\n  repeat")[0] + "\n")
        return command

    def test_of_a_run(self):
        command = self.repeated("defect:tanh", "run", self.g, "--random", "--seed", "5", "--grad",
                                "--options", "strict=true threads=1")
        self.assertIn("my repros/main_0/inputs.safetensors", command)
        with open(self.path("my repros/main_0/options.txt")) as f: self.assertIn("strict=true", f.read())

    def test_of_a_wrong_result(self):
        command = self.repeated("wrong:tanh", "run", self.g, "--random", "--compare", "--grad", "--seed", "5")
        self.assertTrue(command.endswith("--grad --compare"), command)
        self.assertEqual(cleave("run", self.g, "--random", "--compare", "--grad").returncode, 0)

    def test_of_a_compilation(self):
        self.repeated("defect:tanh", "compile", self.g, "--cache", "off")

    def test_options_as_text(self):
        r = cleave("run", self.g, "--random", "--options", f"target={TARGETS[0]} compiler=none", "--json")
        self.assertEqual(json.loads(r.stdout)["target"], TARGETS[0], r.stderr)
        options = self.file("o.txt", f"target={TARGETS[0]}\n")
        r = cleave("compile", self.g, "--options", "@" + options, "--json", "--cache", "off")
        self.assertEqual(json.loads(r.stdout)["target"], TARGETS[0], r.stderr)
        self.refused(cleave("run", self.g, "--random", "--options", "strct=true"), 1, "--options", "strct")
        self.refused(cleave("run", self.g, "--random", "--options", "@" + self.path("none")), 1, "none")
        self.refused(cleave("run", self.g, "--random", "--options", "freeze=true"), 1, "freeze")
        self.refused(cleave("run", self.g, "--random", "--compare", "--engine", "reference"), 1, "--compare")


if __name__ == "__main__":
    unittest.main()
