#!/usr/bin/env python3
"""doc/cut.md shows what its commands print.

    python3 test/tool/cut_page_test.py CLEAVE_BINARY
"""
import json, os, re, unittest

from command_case import ARCHITECTURE, Case, cleave

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def shown(page):
    """Each command of the page, and the lines below it."""
    out = []
    for line in page.splitlines():
        if line.startswith("    $ cleave "): out.append((line.split()[2:], []))
        elif out and line.startswith("    "): out[-1][1].append(line.strip())
        elif out and line.strip(): out.append(([], []))
    return [c for c in out if c[0]]


@unittest.skipUnless(ARCHITECTURE == "x86_64", "its figures are those of x86-64-v3")
class CutPage(Case):
    def page(self):
        with open(os.path.join(ROOT, "doc/cut.md")) as f: return f.read()

    def run_there(self, *args):
        args = [os.path.join(ROOT, a) if a.startswith("doc/") else a for a in args]
        return cleave(*args, cwd=self.folder.name)

    def test_it_shows_what_is_printed(self):
        commands = shown(self.page())
        self.assertEqual(len(commands), 4)
        for args, lines in commands:
            r = self.run_there(*args)
            printed = [l.strip() for l in (r.stdout + r.stderr).splitlines()]
            at, skips = 0, False
            for line in lines:
                if line == "...": skips = True; continue
                self.assertIn(line, printed[at:] if skips else printed[at:at + 1], args)
                at, skips = printed.index(line, at) + 1, False
            self.assertEqual(at, len(printed), args)

    def test_the_same_step_as_one_program(self):
        text = " ".join(self.page().split())
        plain, budget, line = re.search(r"the same step needs (\d+) B without a budget, and (\d+) B at `cleave ([^`]*)`", text).groups()
        for args, bytes in ((line.replace(" --budget 90%", ""), plain), (line, budget)):
            r = self.run_there(*args.split(), "--json")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(json.loads(r.stdout)["planned_peak_bytes"], int(bytes), args)


if __name__ == "__main__":
    unittest.main()
