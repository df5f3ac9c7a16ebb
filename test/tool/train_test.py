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

    def test_mixed_precision_has_the_same_losses_on_one_and_two_threads(self):
        one, two = (self.train("--steps", 6, "--threads", n, "--autocast", "bf16") for n in (1, 2))
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(losses(one), losses(two))
        exact = losses(self.train("--steps", 6))
        self.assertNotEqual(losses(one), exact)
        for a, b in zip(losses(one), exact): self.assertLess(abs(a - b), 0.01 * b)
        self.assertEqual(json.loads(one.stdout.splitlines()[-1])["allocations_per_step"], 0)
        self.refused(self.train("--autocast", "i8"), 1, "--autocast i8: expected bf16 or f16")

    def test_resumed_run_repeats_the_losses_bit_for_bit(self):
        for extra in ([], ["--dropout", "0.2"]):
            out = self.path("run.safetensors")
            whole = losses(self.train("--steps", 12, *extra))
            first = self.train("--steps", 12, "--checkpoint-every", 5, "--out", out, *extra)
            self.assertEqual(losses(first), whole)
            half = self.path("half.safetensors")
            self.interrupt_after(5, half, *extra)
            done = self.train("--steps", 12, "--resume", half, *extra)
            self.assertEqual(done.returncode, 0, done.stderr)
            rest = losses(done)
            self.assertEqual(rest, whole[-len(rest):])
            self.assertLess(len(rest), 12)

    def interrupt_after(self, lines, out, *extra):
        """Of a run of 12 steps; where all of them were done before the signal came, another run is."""
        args = targeted(["train", "--text", self.text, *TINY, "--json", "--steps", "12", "--out", out, *extra])
        for _ in range(30):
            p = subprocess.Popen([CLEAVE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(lines): p.stdout.readline()
            p.send_signal(signal.SIGSTOP)
            p.send_signal(signal.SIGINT)
            p.send_signal(signal.SIGCONT)
            _, err = p.communicate(timeout=60)
            if p.returncode != 0: break
            os.remove(out)
        self.assertEqual(p.returncode, 130, err)
        self.assertIn("--resume", err)

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
