#!/usr/bin/env python3
"""cleave doctor: what it finds here, and the cures of what is broken on purpose.

    python3 test/tool/doctor_test.py CLEAVE_BINARY
"""
import json, os, subprocess, unittest

from command_case import CLEAVE, Case, cleave

NAMES = ["processor", "threads", "memory", "clang", "cc", "kernels", "cache", "remote cache", "ahead of time",
         "safetensors", "pt2", "onnx", "python package", "torch.compile", "cuda driver", "nvrtc", "cublaslt", "cudnn"]
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
        for name in ("cc", "kernels", "cache", "ahead of time", "safetensors", "pt2", "onnx"):
            self.assertTrue(found[name]["ok"], found[name])
        self.assertIn("oracle", found["kernels"]["found"])
        self.assertIn(os.environ["XDG_CACHE_HOME"], found["cache"]["found"])

    def test_without_programs_in_the_path(self):
        found = self.checks(env={"PATH": self.path("empty"), "HOME": self.path("")})
        for name, words in (("cc", "gcc"), ("ahead of time", "install gcc")):
            self.assertFalse(found[name]["ok"])
            self.assertIn(words, found[name]["found"] + found[name]["cure"])

    def python(self, script):
        """The folder of a python3 that answers with these lines."""
        folder = self.path("python")
        os.makedirs(folder, exist_ok=True)
        program = os.path.join(folder, "python3")
        with open(program, "w") as f: f.write("#!/bin/sh\n" + script)
        os.chmod(program, 0o755)
        return {"PATH": folder, "HOME": self.path("")}

    def doors(self, env):
        found = self.checks(env=env)
        return found["python package"], found["torch.compile"]

    def test_python_without_packages(self):
        package, compile = self.doors({"PATH": self.path("empty"), "HOME": self.path("")})
        self.assertFalse(package["ok"] or compile["ok"])
        self.assertIn("apt-get install python3-venv", package["cure"])
        package, compile = self.doors(self.python("echo python 3.11.2"))
        self.assertFalse(package["ok"] or compile["ok"])
        self.assertIn("Python 3.11.2 has no package cleave", package["found"])
        self.assertIn("pip install .", package["cure"])
        self.assertIn("pip install 'torch>=2.13'", compile["cure"])
        self.assertIn("cleave's Python package", compile["cure"])

    def test_python_with_packages(self):
        package, compile = self.doors(self.python("echo python 3.12.1; echo torch 2.13.0+cpu; echo cleave 0.1.0"))
        self.assertTrue(package["ok"] and compile["ok"], (package, compile))
        self.assertIn("2.13.0+cpu", compile["found"])
        self.assertTrue(self.doors(self.python("echo python 3.12.1; echo torch 3.0; echo cleave 0.1.0"))[1]["ok"])
        for old in ("1.13.1", "2.12.9", "2.9", "2"):
            package, compile = self.doors(self.python(f"echo python 3.12.1; echo torch {old}; echo cleave 0.1.0"))
            self.assertTrue(package["ok"])
            self.assertFalse(compile["ok"], old)
            self.assertIn("torch>=2.13", compile["cure"])
            self.assertNotIn("package", compile["cure"])

    def test_a_python_package_that_fails(self):
        package, compile = self.doors(self.python("echo python 3.12.1; echo torch 2.13.0; echo broken no libzip.so.4"))
        self.assertFalse(package["ok"] or compile["ok"])
        self.assertIn("no libzip.so.4", package["found"])
        package, _ = self.doors(self.python("echo oh; exit 3"))
        self.assertIn("ends with status 3: oh", package["found"])

    def test_the_current_folder_is_not_imported(self):
        with open(self.path("cleave.py"), "w") as f: f.write("raise SystemExit('imported')")
        r = subprocess.run([os.path.abspath(CLEAVE), "doctor", "--json"], cwd=self.path(""), capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn("imported", r.stdout)

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
        self.assertRegex(r.stdout, r"(?m)^\d+ of 18 are well$")

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
