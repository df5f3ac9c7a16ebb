#!/usr/bin/env python3
"""cleave doctor: what it finds here, and the cures of what is broken on purpose.

    python3 test/tool/doctor_test.py CLEAVE_BINARY
"""
import json, os, unittest

from command_case import CLEAVE, Case, cleave

NAMES = ["processor", "threads", "memory", "clang", "cc", "kernels", "cache", "remote cache", "ahead of time",
         "cuda driver", "nvrtc", "cublaslt", "cudnn"]
FAKE_CUDA = os.path.join(os.path.dirname(CLEAVE), "..", "lib", "fake_cuda")  # test/backend/fake


class Doctor(Case):
    def checks(self, *args, **kw):
        r = cleave("doctor", "--json", *args, **kw)
        self.assertEqual(r.returncode, 0, r.stderr)
        checks = json.loads(r.stdout)["checks"]
        self.assertEqual([c["name"] for c in checks], NAMES)
        for c in checks:
            self.assertTrue(c["ok"] or c["cure"], c)
            self.assertTrue(c["found"], c)
        return {c["name"]: c for c in checks}

    def test_finds_what_the_other_tests_need(self):
        found = self.checks()
        for name in ("cc", "kernels", "cache", "ahead of time"):
            self.assertTrue(found[name]["ok"], found[name])
        self.assertIn("oracle", found["kernels"]["found"])
        self.assertIn(os.environ["XDG_CACHE_HOME"], found["cache"]["found"])

    def test_without_programs_in_the_path(self):
        found = self.checks(env={"PATH": self.path("empty"), "HOME": self.path("")})
        for name, words in (("cc", "gcc"), ("ahead of time", "install gcc")):
            self.assertFalse(found[name]["ok"])
            self.assertIn(words, found[name]["found"] + found[name]["cure"])

    def test_a_cache_that_others_can_write(self):
        folder = self.path("shared")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        cache = self.checks("--cache", folder)["cache"]
        self.assertFalse(cache["ok"])
        self.assertIn(folder, cache["found"])
        self.assertIn("chmod 700", cache["cure"])

    def test_no_home(self):
        cache = self.checks(env={"PATH": os.environ["PATH"]})["cache"]
        self.assertFalse(cache["ok"])
        self.assertIn("HOME", cache["found"])

    def test_text_for_people(self):
        folder = self.path("file")
        with open(folder, "w"): pass
        r = cleave("doctor", "--cache", folder)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^-- +cache +")
        self.assertIn("cure: ", r.stdout)
        self.assertRegex(r.stdout, r"(?m)^\d+ of 13 are well$")

    @unittest.skipUnless(os.path.isdir(FAKE_CUDA), "the tests aren't built")
    def test_a_gpu(self):
        without = self.checks(env={"PATH": self.path("empty"), "HOME": self.path("")})
        if "Fake" in without["cuda driver"]["found"] or "; cuda:0" in without["cuda driver"]["found"]:
            self.skipTest("there is a GPU here")
        for name in ("cuda driver", "nvrtc", "cublaslt", "cudnn"):
            self.assertTrue(without[name]["ok"], without[name])  # not missed without a GPU
        found = self.checks(env={"PATH": self.path("empty"), "HOME": self.path(""), "LD_LIBRARY_PATH": FAKE_CUDA})
        self.assertTrue(found["cuda driver"]["ok"])
        self.assertIn("CUDA 13.0", found["cuda driver"]["found"])
        self.assertIn("cuda:0 Fake H200, sm_90", found["cuda driver"]["found"])
        for name in ("nvrtc", "cublaslt", "cudnn"):
            if found[name]["ok"]: continue
            self.assertIn("pip install nvidia-", found[name]["found"])
            self.assertIn("--target cuda", found[name]["cure"])


if __name__ == "__main__": unittest.main()
