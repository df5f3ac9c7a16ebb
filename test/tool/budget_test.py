#!/usr/bin/env python3
"""Budgets of partition, frontier, run and train.

    python3 test/tool/budget_test.py CLEAVE_BINARY
"""
import json, os, re, unittest

from command_case import CHAIN, TARGETS, TINY, Case, cleave, contents, losses


class Budget(Case):
    """A budget is the step's true peak, and changes no bit of a result."""

    def run_with(self, *args):
        out = self.path("out.safetensors")
        r = cleave("run", self.file("chain.clv", CHAIN), "--random", "--seed", "3", "--grad", "--json", "--out", out, *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout), contents(out)

    def test_run_keeps_it_bit_for_bit(self):
        for target in TARGETS:
            with self.subTest(target=target): self.run_keeps_it("--target", target)

    def run_keeps_it(self, *target):
        graph = self.file("chain.clv", CHAIN)
        refused = cleave("run", graph, "--random", "--grad", "--budget", "1B", *target)
        if refused.returncode == 2: self.skipTest(refused.stderr)
        least = int(re.search(r"Give at least (\d+) B", refused.stderr)[1])
        whole, want = self.run_with("--mode", "default", *target)
        last = whole["peak_bytes"]
        self.assertLess(least, 0.6 * last)  # the workspaces of the products don't outweigh what is saved
        for percent in (100, 80, 60, 30, 0):
            budget = least + (last - least) * percent // 100
            got, bits = self.run_with("--budget", f"{budget}B", *target)
            self.assertEqual(bits, want)
            self.assertEqual(got["peak_bytes"], got["planned_peak_bytes"])
            self.assertLessEqual(got["peak_bytes"], budget)
        part, bits = self.run_with("--budget", "60%", *target)
        self.assertEqual(bits, want)
        self.assertLessEqual(part["peak_bytes"], 0.6 * whole["peak_bytes"])

    def test_pytorch_s_choice_runs_bit_for_bit(self):
        whole, want = self.run_with("--mode", "default")
        kernels = []
        for budget in ("1", "0.5", "0"):
            got, bits = self.run_with("--mode", "pytorch", "--budget", budget)
            self.assertEqual(bits, want)
            self.assertEqual(got["peak_bytes"], got["planned_peak_bytes"])
            kernels.append(got["kernels"])
        self.assertEqual(kernels, sorted(kernels))
        self.assertGreater(kernels[-1], whole["kernels"])  # what runs again is there
        graph = self.file("chain.clv", CHAIN)
        self.refused(cleave("run", graph, "--random", "--mode", "pytorch"), 1, "--grad", "joint graph")
        self.refused(cleave("run", graph, "--random", "--grad", "--mode", "pytorch", "--budget", "2"), 1, "2")

    def test_its_solver_estimator_and_bans_reach_run_and_train(self):
        _, want = self.run_with("--mode", "default")
        def kernels(*args):
            got, bits = self.run_with("--mode", "pytorch", *args)
            self.assertEqual(bits, want)
            return got["kernels"]
        flops, testing = kernels("--budget", "0.5"), kernels("--budget", "0.5", "--estimator", "testing")
        self.assertNotEqual(flops, testing)
        got, bits = self.run_with("--options", "partition=pytorch,budget:0.5,estimator:testing")
        self.assertEqual((got["kernels"], bits), (testing, want))
        for solver in ("greedy", "ilp"): self.assertLess(kernels("--budget", "0.5", "--solver", solver), kernels("--budget", "0"))
        sums = self.file("sums.clv", "graph @main(%x: input f32[64,64] grad) {\n  %s = sum(%x; dim=[1], keepdim=true)\n"
                         "  %e = exp(%s)\n  %y = mul(%x, %e)\n  return %y\n}\n")
        def recomputed(*args):
            dump = self.path("stages" + "".join(args))
            r = cleave("run", sums, "--random", "--grad", "--mode", "pytorch", "--dump", dump, *args)
            self.assertEqual(r.returncode, 0, r.stderr)
            name = [n for n in sorted(os.listdir(dump)) if n <= "04_partition.clv"][-1]  # none where nothing changed
            with open(os.path.join(dump, name)) as f: return f.read().count(" = sum(")
        self.assertEqual(recomputed() + 1, recomputed("--ban", "reductions=off"))
        graph = self.file("chain.clv", CHAIN)
        self.refused(cleave("run", graph, "--random", "--grad", "--aggressive"), 1, "of mode pytorch alone")
        self.refused(cleave("run", graph, "--random", "--grad", "--mode", "pytorch", "--budget", "0.5", "--estimator", "profile"), 1,
                     "nothing is timed while a program is compiled")
        text = self.path("text.txt")
        with open(text, "w") as f: f.write("to be or not to be, that is the question\n" * 60)
        train = lambda *args: cleave("train", "--text", text, *TINY, "--json", "--steps", 3, *args)
        plain = losses(train())
        for args in ((), ("--budget", "0"), ("--budget", "0.5", "--solver", "greedy"), ("--aggressive",)):
            r = train("--mode", "pytorch", *args)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(losses(r), plain)
        self.refused(train("--solver", "dp"), 1, "of mode pytorch alone")
        self.refused(train("--mode", "default"), 1, "--mode default: expected exact or pytorch")

    def test_autocast_has_the_same_bits_in_every_mode(self):
        for dtype in ("bf16", "f16"):
            _, want = self.run_with("--autocast", dtype, "--mode", "default")
            for mode in (["exact"], ["exact", "--budget", "90%"], ["pytorch"], ["pytorch", "--budget", "0.5"], ["pytorch", "--budget", "0"]):
                self.assertEqual(self.run_with("--autocast", dtype, "--mode", *mode)[1], want, (dtype, mode))

    def test_one_that_cannot_be_met_names_the_least(self):
        graph = self.file("chain.clv", CHAIN)
        r = cleave("run", graph, "--random", "--grad", "--budget", "1KiB")
        self.refused(r, 1, "1024 B", "least peak found", "no program takes less than")
        r = cleave("partition", graph, "--budget", "1KiB")
        self.refused(r, 1, "1024 B", "least peak found", "no cut needs less than")

    def test_nonsense_is_refused(self):
        graph = self.file("chain.clv", CHAIN)
        for budget in ("0", "0%", "-1", "101%", "abc", "5 parsecs", "nan%"):
            for command in (("run", graph, "--random"), ("partition", graph), ("train", "--text", self.text, *TINY)):
                r = cleave(*command, f"--budget={budget}")
                self.refused(r, 1, "expected")
                self.assertEqual(r.stderr.count("error:"), 1, r.stderr)
        self.refused(cleave("partition", graph, "--mode", "default", "--budget", "1MiB"), 1, "takes none")

    def test_partition_and_frontier_agree(self):
        graph = self.file("chain.clv", CHAIN)
        points = json.loads(cleave("frontier", graph, "--json").stdout)["points"]
        self.assertGreater(len(points), 3)
        for a, b in zip(points, points[1:]):
            self.assertGreater(a["saved_bytes"], b["saved_bytes"])
            self.assertLessEqual(a["recompute_cost_ns"], b["recompute_cost_ns"])
        self.assertEqual(points[0]["recompute_cost_ns"], 0)
        before = None
        for point in sorted(points, key=lambda p: -p["peak_bytes"]):
            r = cleave("partition", graph, "--budget", point["peak_bytes"], "--json")
            self.assertEqual(r.returncode, 0, r.stderr)
            cut = json.loads(r.stdout)
            self.assertLessEqual(cut["planned_peak_bytes"], point["peak_bytes"])
            self.assertLessEqual(cut["lower_bound_bytes"], cut["planned_peak_bytes"])
            self.assertLessEqual(cut["recompute_cost_ns"], point["recompute_cost_ns"])
            if before: self.assertGreaterEqual(cut["recompute_cost_ns"], before["recompute_cost_ns"])
            before = cut
        saved = json.loads(cleave("partition", graph, "--saved-bytes", "40KiB", "--json").stdout)
        self.assertLessEqual(saved["saved_activation_bytes"], 40 << 10)

    def test_a_graph_without_steps_needs_its_placeholders_and_results(self):
        for returned, peak in ("", 64), ("%x", 128):
            graph = self.file("none.clv", "graph @main(%x: input f32[4]) {\n  return " + returned + "\n}\n")
            r = cleave("run", graph, "--random", "--json", "--budget", peak)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.refused(cleave("run", graph, "--random", "--budget", peak - 1), 1, f"{peak - 1} B", f"{peak} B")

    def test_contradictory_tags_are_one_error(self):
        text = ("graph @main(%x: input f32[4] grad, %y: input f32[2,2] grad) {\n"
                "  %a = cos(%x) !recompute(must_recompute, ac=1)\n"
                "  %v = view(%a; size=[2,2]) !recompute(must_save, ac=1)\n  %b = mul(%v, %y)\n  return %b\n}\n")
        self.refused(cleave("partition", self.file("tags.clv", text)), 1, "can neither be saved nor recomputed", "%a: tagged must_recompute")

    def test_training_keeps_it_with_the_same_losses(self):
        whole = cleave("train", "--text", self.text, *TINY, "--steps", "3", "--json")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        last = json.loads(whole.stdout.splitlines()[-1])
        r = cleave("train", "--text", self.text, *TINY, "--steps", "3", "--json", "--budget", "90%")
        self.assertEqual(r.returncode, 0, r.stderr)
        end = json.loads(r.stdout.splitlines()[-1])
        self.assertEqual(losses(r), losses(whole))
        self.assertEqual(end["peak_bytes"], end["planned_peak_bytes"])
        self.assertLessEqual(end["peak_bytes"], 0.9 * last["peak_bytes"])


if __name__ == "__main__":
    unittest.main()
