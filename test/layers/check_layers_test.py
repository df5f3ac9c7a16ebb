"""script/check_layers finds each kind of planted violation, and nothing in a clean tree.

python3 test/layers/check_layers_test.py: each case plants in a small tree of its own, which has the
rooms of script/layers.txt.
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        shutil.copytree(ROOT / "script", self.root / "script")
        self.plant("include/cleave/error.h", "#include <string>")
        self.plant("src/base/result.h", '#include "cleave/error.h"')
        self.plant("src/ir/graph.h", '#include "base/result.h"\n#include "cleave/error.h"')
        self.plant("src/compile/options.h", '#include "ir/graph.h"')
        self.plant("tool/main.cpp", '#include "compile/options.h"\n#include "tool/command.h"')

    def tearDown(self):
        self.folder.cleanup()

    def plant(self, file, line):
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line + "\n")

    def check(self, root=None):
        run = subprocess.run([sys.executable, ROOT / "script/check_layers", root or self.root],
                             capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def refuses(self, file, line, message):
        self.plant(file, line)
        status, output = self.check()
        self.assertEqual(status, 1, output)
        self.assertIn(f"{file}:1: {message}", output)
        self.assertIn("check_layers: 1 in ", output)

    def accepts(self, file, line):
        self.plant(file, line)
        status, output = self.check()
        self.assertEqual(status, 0, output)

    def test_both_trees_are_clean(self):
        for root in (ROOT, self.root):
            status, output = self.check(root)
            self.assertEqual(status, 0, output)

    def test_examples_share_headers_beside_them(self):
        self.plant("example/text.h", "#include <string>")
        self.accepts("example/gpt.cpp", '#include "text.h"')
        self.refuses("example/gpt.cpp", '#include "other.h"', "#include other.h: written from another")

    def test_an_arrow_down(self):
        self.refuses("src/ir/planted.h", '#include "compile/options.h"',
                     "#include compile/options.h: ir may not use compile, only: base")

    def test_an_arrow_aside(self):
        self.refuses("src/runtime/planted.cpp", '#include "loop/nest.h"',
                     "#include loop/nest.h: runtime may not use loop, only: base")

    def test_an_arrow_down_in_angles_and_spaces(self):
        self.refuses("src/base/planted.cpp", "  #  include <ir/graph.h>",
                     "#include ir/graph.h: base may not use ir, only: include/cleave")

    def test_the_oracle_does_not_use_gradients(self):
        self.refuses("src/interp/planted.cpp", '#include "grad/joint.h"',
                     "#include grad/joint.h: interp may not use grad")

    def test_an_arrow_up_through_another_room(self):
        self.accepts("src/grad/planted.cpp", '#include "ir/graph.h"')

    def test_a_subfolder_belongs_to_its_room(self):
        self.refuses("src/pass/joint/planted.cpp", '#include "lower/lower.h"',
                     "#include lower/lower.h: pass may not use lower")

    def test_a_subfolder_may_be_a_room(self):
        self.accepts("src/backend/cpu/planted.cpp", '#include "runtime/gemm.h"\n#include "backend/backend.h"')
        self.refuses("src/backend/planted.h", '#include "runtime/gemm.h"',
                     "#include runtime/gemm.h: backend may not use runtime")
        self.refuses("src/backend/planted.h", '#include "backend/cpu/planted.h"',
                     "#include backend/cpu/planted.h: backend may not use backend/cpu")

    def test_public_header_with_a_library(self):
        self.refuses("include/cleave/planted.h", "#include <fmt/format.h>",
                     "#include fmt/format.h: a public header may include only")

    def test_public_header_with_a_room(self):
        self.refuses("include/cleave/planted.h", '#include "ir/graph.h"',
                     "#include ir/graph.h: a public header may include only")

    def test_public_header_with_the_standard_library(self):
        self.accepts("include/cleave/planted.h", '#include <vector>\n#include "cleave/error.h"')

    def test_example_with_a_room(self):
        self.refuses("example/planted.cpp", '#include "ir/graph.h"',
                     "#include ir/graph.h: example may not use ir")

    def test_include_beside(self):
        self.refuses("src/ir/planted.cpp", '#include "graph.h"',
                     "#include graph.h: written from another folder")

    def test_environment(self):
        self.refuses("src/runtime/planted.cpp", 'const char* x = std::getenv("X");',
                     "only tool/ reads the environment")
        self.accepts("src/runtime/planted.cpp", "// getenv(x) belongs to tool")

    def test_a_test_may_use_the_tool_but_no_room_may(self):
        self.refuses("src/compile/planted.cpp", '#include "tool/command.h"',
                     "#include tool/command.h: compile may not use tool")
        (self.root / "src/compile/planted.cpp").unlink()
        self.accepts("test/ir/planted.cpp", '#include "tool/command.h"')

    def test_unlisted_room(self):
        self.plant("src/attic/planted.cpp", "#include <vector>")
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("src/attic: a room that script/layers.txt doesn't list", output)

    def test_list_with_an_arrow_down(self):
        path = self.root / "script/layers.txt"
        path.write_text(path.read_text().replace("src/ir: base", "src/ir: base op"))
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("src/ir names op, which is no room above it", output)


if __name__ == "__main__":
    unittest.main()
