#!/usr/bin/env python3
"""The plug-in with clang: loaded where a kernel is compiled, not before, and not needed by anything else.

    python3 test/tool/plugin_test.py CLEAVE_BINARY
"""
import json, os, shutil, subprocess, unittest

from command_case import CLEAVE, EMULATED, MLP, Case, cleave, contents

PLUGIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(CLEAVE))), "lib", "libcleave_clang.so")

PRODUCT = """graph @main(%x: input f32[4,4]) {
  %y = mm(%x, %x)
  return %y
}
"""


@unittest.skipUnless(os.path.exists(PLUGIN), "built without clang")
class Plugin(Case):
    def alone(self, plugin=None):
        """The command in a folder of its own, with this text or file as plug-in."""
        folder = self.path("alone")
        os.mkdir(folder)
        command = shutil.copy(CLEAVE, folder)
        if plugin is not None: shutil.copy(plugin, os.path.join(folder, "libcleave_clang.so"))
        return command

    def run_mlp(self, command, *options):
        args = [command, "run", self.file("g.clv", MLP), "--random", *options]
        return subprocess.run(args, capture_output=True, text=True, timeout=120)

    def test_the_command_does_not_load_llvm(self):
        loaded = subprocess.run([CLEAVE], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True)
        self.assertIn("libc.so", loaded.stdout)
        self.assertNotRegex(loaded.stdout, "(?i)llvm|clang-cpp")

    def test_beside_the_command(self):
        r = self.run_mlp(self.alone(PLUGIN), "--compiler", "clang")
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_of_the_command_that_path_names(self):
        """Its own folder counts, not one of its name in the current one."""
        command, g = self.alone(PLUGIN), self.file("g.clv", MLP)
        def run(folder):
            env = {**os.environ, "PATH": os.path.dirname(command) + ":" + os.environ["PATH"]}
            return subprocess.run(["cleave", "run", g, "--random", "--compiler", "clang"], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        r = run("/")
        self.assertEqual(r.returncode, 0, r.stderr)
        folder = self.path("folder")
        os.mkdir(folder)
        for name in ("cleave", "libcleave_clang.so"):
            with open(os.path.join(folder, name), "w") as f: f.write("not an object")
        r = run(folder)
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_where_nothing_is_mounted_at_proc(self):
        hidden = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if EMULATED or not shutil.which("unshare") or subprocess.run([*hidden, "true"], capture_output=True).returncode:
            self.skipTest("no namespaces of one's own here")
        line = [self.alone(PLUGIN), "run", self.file("g.clv", MLP), "--random", "--compiler", "clang"]
        env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # looks into /proc
        r = subprocess.run([*hidden, *line], env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_missing(self):
        command = self.alone()
        r = self.run_mlp(command, "--compiler", "clang")
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn("there is no libcleave_clang.so in ", r.stderr)
        self.assertEqual(self.run_mlp(command, "--compiler", "none").returncode, 0)
        if shutil.which("cc"): self.assertEqual(self.run_mlp(command).returncode, 0)

    def test_no_compiler_at_all(self):
        """Kernels are interpreted then, which is said; what is asked for by name is refused."""
        command, out = self.alone(), self.path("out")
        def run(*args):
            args = [command, *args, "--json"]
            return subprocess.run(args, capture_output=True, text=True, timeout=120, env={"PATH": self.path("none")})
        g = self.file("g.clv", MLP)
        r = run("compile", g)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual([w["code"] for w in json.loads(r.stdout)["warnings"]], ["no_compiler"])
        self.assertIn("cleave: warning: this machine has no compiler", r.stderr)
        r = run("run", g, "--random", "--out", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        compiled = cleave("run", g, "--random", "--out", self.path("compiled"))
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        self.assertEqual(contents(out), contents(self.path("compiled")))
        self.assertEqual(run("run", g, "--random", "--compiler", "cc").returncode, 2)
        self.assertEqual(json.loads(run("compile", self.file("mm.clv", PRODUCT)).stdout)["warnings"], [])

    def test_no_library(self):
        r = self.run_mlp(self.alone(self.file("text.so", "not an object")), "--compiler", "clang")
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn("libcleave_clang.so", r.stderr)

    @unittest.skipUnless(shutil.which("cc"), "no cc")
    def test_of_another_build(self):
        source = self.file("other.c", 'const char *const cleave_clang_plugin[2] = {"0.0.1, by hand", 0};\n')
        library = self.path("other.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        r = self.run_mlp(self.alone(library), "--compiler", "clang")
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn("is of another build", r.stderr)


if __name__ == "__main__":
    unittest.main()
