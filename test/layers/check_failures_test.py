"""script/check_failures finds what throws and catches where it must not, and nothing in this tree.

python3 test/layers/check_failures_test.py: each case plants a line in a copy of the sources.
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class CheckFailures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name)
        for name in ("include", "src", "tool"):
            shutil.copytree(ROOT / name, cls.root / name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def change(self, file, change):
        path = self.root / file
        kept = path.read_text()
        self.addCleanup(path.write_text, kept)
        path.write_text(change(kept))

    def check(self):
        run = subprocess.run([sys.executable, ROOT / "script/check_failures", self.root], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def refuses(self, file, line, message):
        self.change(file, lambda text: line + "\n" + text)
        status, output = self.check()
        self.doCleanups()
        self.assertEqual(status, 1, output)
        self.assertIn(f"{file}:1: {message}", output)

    def test_this_tree_is_clean(self):
        self.assertEqual(self.check(), (0, "check_failures: 0 problems\n"))

    def test_what_stands_elsewhere(self):
        self.refuses("src/lower/fuse.cpp", 'void f() { throw Error(ErrorKind::user, "no"); }', "throw: of src/base/result.h")
        self.refuses("src/lower/fuse.cpp", "int f() { return value_or_throw(g()); }", "value_or_throw: of src/base/result.h")
        self.refuses("tool/run_command.cpp", "void f() { throw_failure(g()); }", "throw_failure: of src/base/result.h")
        self.refuses("src/emit/c_source.cpp", "void f() { try { g(); } catch (const Error&) {} }", "catch: of src/compile/at_stage.h")

    def test_comments_and_texts_are_no_code(self):
        self.change("src/lower/fuse.cpp", lambda text: '// what they throw, we catch\nconst char* text = "throw";\n' + text)
        self.assertEqual(self.check()[0], 0)

    def test_a_file_that_is_listed_in_vain(self):
        self.change("src/base/json.cpp", lambda text: text.replace("catch", "ketch"))
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("src/base/json.cpp: listed in vain", output)


if __name__ == "__main__":
    unittest.main()
