#!/usr/bin/env python3
"""cleave partition --mode pytorch: each option saves what PyTorch saves under the setting of the same meaning.

    python3 test/tool/partition_test.py CLEAVE_BINARY

test/tool/partition/ holds joint graphs with PyTorch's sets, recorded by test/peer/record_partition.py.
"""
import glob, json, math, os, re, unittest

from command_case import Case, cleave

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "partition")


def sizes_of(names, graph):
    """The elements of the values of those names, sorted."""
    with open(graph) as f: text = f.read()
    declared = {}
    for line in text.splitlines()[1:]:
        if " = " not in line: continue
        results, _, types = line.strip().partition(" = ")[0], *line.rpartition(" : ")[1:]
        declared.update(zip(results.replace("%", "").split(", "), re.split(r", (?=\D)", types)))
    declared.update(re.findall(r"%(\w+): \w+ (\w+\[[\d,]*\])", text))
    return sorted(math.prod(map(int, re.findall(r"\d+", declared[n].partition("[")[2]))) for n in names)


def recorded():
    """(name, path of the graph, [{"options", "saved"}]) of each model."""
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path) as f: yield os.path.basename(path)[:-5], path[:-5] + ".clv", json.load(f)


class Partition(Case):
    def test_each_option_saves_what_pytorch_saves(self):
        for name, graph, rows in recorded():
            for row in rows:
                with self.subTest(graph=name, options=" ".join(row["options"])):
                    r = cleave("partition", graph, "--mode", "pytorch", "--json", *row["options"])
                    self.assertEqual(r.returncode, 0, r.stderr)
                    saved = sorted(v["name"] for v in json.loads(r.stdout)["saved"])
                    if "ilp" in row["options"]:  # of equal optima its solver gives any
                        self.assertEqual(sizes_of(saved, graph), sizes_of(row["saved"], graph))
                    else:
                        self.assertEqual(saved, row["saved"])

    def test_each_option_makes_a_difference_in_some_graph(self):
        options, changes = set(), set()
        for _, _, rows in recorded():
            for row in rows[1:]:
                options.add(" ".join(row["options"]))
                if row["saved"] != rows[0]["saved"]: changes.add(" ".join(row["options"]))
        self.assertGreater(len(options), 25)
        self.assertEqual(options - changes, set())


if __name__ == "__main__":
    unittest.main()
