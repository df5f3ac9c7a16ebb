#!/usr/bin/env python3
"""cleave train: models, resuming, signals, its files.

    python3 test/tool/train_test.py CLEAVE_BINARY
"""
import json, os, signal, subprocess, unittest

from command_case import CLEAVE, TINY, Case, cleave, contents, losses, targeted


class Train(Case):
    def train(self, *args, **kw): return cleave("train", "--text", self.text, *TINY, "--json", *args, **kw)

    def test_steps_are_the_same_on_one_and_two_threads_and_allocate_nothing(self):
        one, two = self.train("--steps", 8, "--threads", 1), self.train("--steps", 8, "--threads", 2)
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(losses(one), losses(two))
        self.assertEqual(len(losses(one)), 8)
        last = json.loads(two.stdout.splitlines()[-1])
        self.assertEqual(last["peak_bytes"], last["planned_peak_bytes"])
        self.assertEqual(last["allocations_per_step"], 0)

    def test_losses_of_code_that_an_earlier_run_has_kept(self):
        at = ("--cache", self.path("c"))
        first, second = (losses(self.train("--steps", 4, *at)) for _ in range(2))
        self.assertEqual(len(first), 4)
        self.assertEqual(first, second)
        self.assertEqual(first, losses(self.train("--steps", 4, "--cache", "off")))
        self.assertGreater(json.loads(cleave("cache", "stats", *at, "--json").stdout)["hits"], 1)

    def test_mixed_precision_has_the_same_losses_on_one_and_two_threads(self):
        one, two = (self.train("--steps", 6, "--threads", n, "--autocast", "bf16") for n in (1, 2))
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(losses(one), losses(two))
        exact = losses(self.train("--steps", 6))
        self.assertNotEqual(losses(one), exact)
        for a, b in zip(losses(one), exact): self.assertLess(abs(a - b), 0.01 * b)
        self.assertEqual(json.loads(one.stdout.splitlines()[-1])["allocations_per_step"], 0)
        self.refused(self.train("--autocast", "i8"), 1, "--autocast i8: expected bf16 or f16")

    def test_steps_in_f16_are_skipped_until_the_scale_fits(self):
        def ends(*args): return [json.loads(l) for l in self.train("--steps", 16, "--autocast", "f16", *args).stdout.splitlines()]
        *steps, last = ends("--init-scale", 2**40, "--out", self.path("whole.safetensors"))
        scales, skipped = ([s[k] for s in steps] for k in ("loss_scale", "skipped_steps"))
        self.assertEqual((len(steps), scales[0]), (16, 2**40))
        self.assertGreater(last["skipped_steps"], 4)
        self.assertEqual(last["skipped_steps"], skipped[-1])
        for k in range(15): self.assertEqual(scales[k + 1], scales[k] / 2 if skipped[k] > (skipped[k - 1] if k else 0) else scales[k])
        self.assertEqual(last["peak_bytes"], last["planned_peak_bytes"])
        # A checkpoint in the middle of the skipped steps goes on with their batches.
        half = self.path("half.safetensors")
        self.train("--steps", 5, "--autocast", "f16", "--init-scale", 2**40, "--out", half)
        resumed = ends("--resume", half)
        for a, b in zip(resumed[:-1], steps[5:], strict=True):
            for key in ("step", "loss_scale", "skipped_steps"): self.assertEqual(a[key], b[key])
        *steps, last = ends("--loss-scaling", "off")
        self.assertNotIn("loss_scale", steps[0])
        self.assertNotIn("skipped_steps", last)
        self.assertEqual(ends()[0]["loss_scale"], 65536)
        self.refused(self.train("--loss-scaling", "yes"), 1, "--loss-scaling yes: expected automatic, on or off")
        self.refused(self.train("--init-scale", 0), 1, "--init-scale 0: expected a positive number of f32")

    def test_resumed_run_repeats_the_losses_bit_for_bit(self):
        for extra in ([], ["--dropout", "0.2"]):
            run = ["--steps", 300, *extra]
            whole = losses(self.train(*run))
            self.assertEqual(len(whole), 300)
            saving = self.train(*run, "--checkpoint-every", 70, "--out", self.path("run.safetensors"))
            self.assertEqual(losses(saving), whole)
            half = self.path("half.safetensors")
            steps = self.interrupt(5, half, *run)
            resumed = self.train(*run, "--resume", half)
            self.assertEqual(resumed.returncode, 0, resumed.stderr)
            self.assertEqual(losses(resumed), whole[steps:])

    def interrupt(self, lines, out, *run):
        """A signal when `lines` steps have been read; the steps done when it was seen. The pipe is shorter than
        what 300 steps print, so that a run can't be over before."""
        args = targeted(["train", "--text", self.text, *TINY, "--json", "--out", out, *map(str, run)])
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "pipesize": 4096}
        with subprocess.Popen([CLEAVE, *args], text=True, **pipes) as p:
            seen = [p.stdout.readline() for _ in range(lines)]
            p.send_signal(signal.SIGINT)
            seen += [l for l in p.stdout if '"loss"' in l]
            err = p.stderr.read()
        self.assertEqual(p.returncode, 130, err)
        self.assertIn(f"interrupted after {len(seen)} steps", err)
        self.assertIn("--resume", err)
        self.assertLess(len(seen), 300)
        return len(seen)

    def test_bad_texts_are_refused(self):
        for name, contents, part in (("empty", "", "empty"), ("short", "abc", "too few"), ("binary", b"ab\0cd" * 999, "no text"),
                                     ("same", "a" * 4000, "the same")):
            r = cleave("train", "--text", self.file(name, contents), *TINY)
            self.refused(r, 1, name, part)
            self.assertEqual(r.stderr.count("\n"), 1)
        self.refused(cleave("train", "--text", self.path("absent"), *TINY), 1, "absent")

    def test_unwritable_places_are_found_before_training(self):
        self.refused(self.train("--out", self.path("no/such/folder/x.safetensors")), 1, "no/such/folder")

    def test_a_full_disk_is_one_error(self):
        if not os.path.exists("/dev/full"): self.skipTest("no /dev/full")
        r = self.train("--steps", 1, "--out", "/dev/full")
        self.refused(r, 1, "/dev/full")

    def test_corrupt_and_foreign_checkpoints_are_refused(self):
        out = self.path("run.safetensors")
        self.assertEqual(self.train("--steps", 2, "--out", out).returncode, 0)
        whole = contents(out)
        for name, data in (("cut", whole[:len(whole) // 2]), ("noise", bytes(range(256)) * 9), ("nothing", b"")):
            self.refused(self.train("--steps", 3, "--resume", self.file(name, data)), 1, name)
        self.refused(cleave("train", "--text", self.text, *TINY, "--width", "64", "--resume", out), 1)
        r = cleave("train", "--text", self.text, "--layers", 1, *TINY[2:], "--steps", 3, "--resume", out)
        self.refused(r, 1, "--layers 2", "1")
        other = self.file("other.txt", "xyz " * 1000)
        self.refused(cleave("train", "--text", other, *TINY, "--steps", 3, "--resume", out), 1, "characters")
        self.assertEqual(contents(out), whole)

    def test_options_out_of_range_are_refused(self):
        for option, value in (("--heads", 5), ("--layers", 0), ("--dropout", 1.5), ("--lr", 0), ("--schedule", "step"), ("--batch", -1)):
            self.refused(self.train(option, value), 1, option)


if __name__ == "__main__":
    unittest.main()
