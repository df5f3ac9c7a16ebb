#!/usr/bin/env python3
"""`cleave remat` on the public graphs beside the checkout, and on files that are none.

    python3 test/tool/remat_test.py CLEAVE_BINARY

Each plan is run again by a simulator of its own. Without ../shared/data/remat the tests on public
graphs are skipped, by name.
"""
import json, os, subprocess, sys, tempfile, unittest

CLEAVE = sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "..", "shared", "data", "remat")
# Overhead in percent to reach at a limit in percent of the given order's peak.
REACH = {
    "layered_100": {90: 0.0, 80: 0.0, 70: 2.15}, "layered_250": {90: 0.0, 80: 0.0, 70: 0.57},
    "fcn8_train": {90: 0.0295, 80: 0.1365, 70: 0.892},
    "resnet50_train": {90: 0.1085, 80: 0.2795, 70: 0.5645, 50: 1.515, 30: 3.855},
    "vgg_unet_train": {50: 6.9675},
}


def remat(graph, *args, stdin=None):
    return subprocess.run([CLEAVE, "remat", graph, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=120)


class Graph:
    def __init__(self, data):
        key = "id" if "id" in data["nodes"][0] else "name"
        self.bytes = {n[key]: n.get("cost_ram", n.get("out_cost")) for n in data["nodes"]}
        self.time = {n[key]: n.get("cost_cpu", n.get("duration")) for n in data["nodes"]}
        self.operands = {v: set() for v in self.bytes}
        for l in data["links"]:
            ends = (l["source"], l["target"]) if "source" in l else (l["0"], l["1"])
            self.operands[ends[1]].add(ends[0])
        self.order = data["graph"].get("order") or sorted(self.bytes)

    def run(self, sequence):
        """(peak, time): a value is in memory from its step to its last reader."""
        newest, end, steps = {}, [], []
        for step, v in enumerate(sequence):
            for x in self.operands[v]: end[newest[x]] = step
            newest[v] = step
            end.append(step)
        assert set(sequence) == set(self.bytes)
        change = [0] * (len(sequence) + 1)
        for step, v in enumerate(sequence):
            change[step] += self.bytes[v]
            change[end[step] + 1] -= self.bytes[v]
        live = peak = 0
        for c in change:
            live += c
            peak = max(peak, live)
        return peak, sum(self.time[v] for v in sequence)


class PublicGraphs(unittest.TestCase):
    def check(self, name):
        path = os.path.join(DATA, name + ".json")
        if not os.path.exists(path): self.skipTest(f"{path} is missing")
        with open(path) as f: g = Graph(json.load(f))
        given, once = g.run(g.order)
        for percent, reach in REACH[name].items():
            r = remat(path, "--peak-percent", percent, "--json")
            self.assertEqual(r.returncode, 0, r.stderr)
            got = json.loads(r.stdout)
            peak, time = g.run(got["sequence"])
            with self.subTest(name=name, percent=percent, **{k: v for k, v in got.items() if k != "sequence"}):
                self.assertEqual(got["limit_bytes"], given * percent // 100)
                self.assertEqual(got["peak_bytes"], peak)
                self.assertLessEqual(peak, got["limit_bytes"])
                self.assertTrue(got["met"])
                self.assertAlmostEqual(got["overhead_percent"], 100 * (time / once - 1))
                self.assertLessEqual(got["bound_percent"], got["overhead_percent"] + 1e-9)
                self.assertLessEqual(got["bound_percent"], got["bound_given_order_percent"] + 1e-9)
                self.assertLessEqual(got["overhead_percent"], reach)

    def test_layered_100(self): self.check("layered_100")
    def test_layered_250(self): self.check("layered_250")
    def test_fcn8_train(self): self.check("fcn8_train")
    def test_resnet50_train(self): self.check("resnet50_train")
    def test_vgg_unet_train(self): self.check("vgg_unet_train")


def node(name, **more): return {"id": name, "cost_ram": 4, "cost_cpu": 1, **more}
def graph(nodes, links, **more):
    return json.dumps({"graph": more, "nodes": nodes, "links": [{"source": a, "target": b} for a, b in links]})


CHAIN = graph([node("a"), node("b"), node("c")], [("a", "b"), ("b", "c"), ("a", "c")])
REFUSED = {
    "": "not JSON", "{": "not JSON", "[" * 100000: "", "[]": "expected an object", "{}": "nodes: expected an array",
    '{"nodes": [], "links": []}': "there is none", '{"nodes": [{}], "links": []}': "nodes[0]: expected an integer or a string",
    '{"nodes": [3], "links": []}': "nodes[0]: expected an object", json.dumps({"nodes": [node(1)]}): "links: expected an array",
    graph([node(1), node(1)], []): "node 1 is there twice", graph([node(1)], [(1, 2)]): "links[0]: there is no node 2",
    graph([node(1, cost_ram=-4)], []): "node 1: cost_ram (or out_cost) is -4", graph([node(1, cost_cpu=1.5)], []): "no integer",
    graph([node(1, cost_ram=2**63)], []): "no integer", graph([node(1, cost_ram=2**62), node(2)], []): "2^50",
    graph([node("x", cost_ram="4")], []): "node 'x'", json.dumps({"nodes": [{"id": 1}], "links": []}): "neither cost_ram nor out_cost",
    graph([node(1), node(2)], [(1, 2), (2, 1)]): "nodes 1 -> 2 -> 1 form a cycle", graph([node(1)], [(1, 1)]): "form a cycle",
    graph([node(1), node(2)], [(1, 2)], order=[2, 1]): "graph.order: node 2 is before 1", graph([node(1), node(2)], [], order=[1]): "node 2 is missing",
    graph([node(1), node(2)], [], order=[1, 1]): "node 1 is there twice", graph([node(1)], [], order=[7]): "no node 7", graph([node(1)], [], order=3): "graph.order",
    graph([node(1), node(2)], [(2, 1)]): "the order by id: node 1 is before 2", graph([node(1)], [], order=[None]): "names of nodes",
}


class Files(unittest.TestCase):
    def test_one_clear_error_each(self):
        for text, message in REFUSED.items():
            with self.subTest(text=text[:80]):
                r = remat("-", "--peak-percent", 90, stdin=text)
                self.assertEqual(r.returncode, 1, r.stderr)
                self.assertTrue(r.stderr.startswith("cleave: error: stdin: "), r.stderr)
                self.assertIn(message, r.stderr)
                self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
                self.assertEqual(r.stdout, "")

    def test_percent_of_nonsense(self):
        for percent in ("0", "-5", "nan", "inf", "many", "", "1e9", "80x"):
            r = remat("-", "--peak-percent", percent, stdin=CHAIN)
            self.assertEqual(r.returncode, 1, percent)
            self.assertIn("peak-percent", r.stderr)

    def test_names_may_be_words_and_percent_may_have_its_sign(self):
        r = remat("-", "--peak-percent", "100%", "--json", stdin=CHAIN)
        self.assertEqual(r.returncode, 0, r.stderr)
        got = json.loads(r.stdout)
        self.assertEqual(got["sequence"], ["a", "b", "c"])
        self.assertEqual((got["limit_bytes"], got["peak_bytes"], got["overhead_percent"], got["met"]), (12, 12, 0.0, True))

    def test_a_limit_that_nothing_meets_gives_the_best_found(self):
        r = remat("-", "--peak-percent", 50, "--json", stdin=CHAIN)
        self.assertEqual(r.returncode, 1)
        got = json.loads(r.stdout)
        self.assertFalse(got["met"])
        self.assertEqual((got["limit_bytes"], got["peak_bytes"]), (6, 12))
        self.assertIn("a single step needs 12 B", r.stderr)

    def test_same_seed_same_plan_and_text_for_people(self):
        nodes, links = [node(i, cost_ram=1 + i * 7 % 5, cost_cpu=1 + i % 3) for i in range(40)], []
        for i in range(1, 40): links += [(i - 1, i)] + ([(39 - i, i)] if 39 - i < i - 1 else [])
        runs = [remat("-", "--peak-percent", 70, "--moves", 5000, "--json", stdin=graph(nodes, links)) for _ in range(2)]
        plans = [json.loads(r.stdout) for r in runs]
        for p in plans: p.pop("solve_ms")
        self.assertEqual(plans[0], plans[1])
        text = remat("-", "--peak-percent", 70, "--moves", 5000, stdin=graph(nodes, links))
        self.assertIn("overhead", text.stdout)


if __name__ == "__main__":
    unittest.main()
