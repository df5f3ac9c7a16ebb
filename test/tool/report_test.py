#!/usr/bin/env python3
"""cleave report, --trace, partition --statistics, and pictures of passes and of cuts that fail.

    python3 test/tool/report_test.py CLEAVE_BINARY
"""
import json, os, re, unittest

import chromium_report
from command_case import Case, cleave, CHAIN, CONTRADICTION, MLP, TINY

BLOCKS = """graph @main(%wte.weight: param f32[50,16] grad, %blocks.0.fc.weight: param f32[16,16] grad, %blocks.1.fc.weight: param f32[16,16] grad, %i: input i64[4]) {
  %e = embedding(%wte.weight, %i)           # net.cpp:3
  %h = mm(%e, %blocks.0.fc.weight)          # net.cpp:4
  %g = gelu(%h)                             # net.cpp:5
  %k = mm(%g, %blocks.1.fc.weight)          # net.cpp:4
  %y = tanh(%k)                             # net.cpp:6
  %s = sum(%y; dim=[])                      # net.cpp:7
  return %s
}
"""


def contents(path):
    with open(path, encoding="utf-8") as f: return f.read()


def rows(page, section):
    """The cells of the tables of a section, row by row."""
    part = page[page.index(f'<section id="{section}">'):]
    part = part[:part.index("</section>")]
    return [re.findall(r"<td[^>]*>(.*?)</td>", r) for r in re.findall(r"<tr>(<td.*?)</tr>", part)]


def spans(path):
    return [e for e in json.loads(contents(path))["traceEvents"] if e["ph"] == "X"]


class Report(Case):
    def report(self, text, *args):
        graph, page = self.file("g.clv", text), self.path("r.html")
        r = cleave("report", graph, "-o", page, "--json", *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout), contents(page)

    def test_the_page_says_what_the_other_commands_say(self):
        found, page = self.report(BLOCKS, "--grad")
        graph = self.path("g.clv")
        kernels = json.loads(cleave("kernels", graph, "--grad", "--json").stdout)["kernels"]
        self.assertEqual([k["name"] for k in found["kernels"]], [k["name"] for k in kernels])
        self.assertEqual([k["read"] for k in found["kernels"]], [4 * k["read"] for k in kernels])
        self.assertEqual([k["written"] for k in found["kernels"]], [4 * k["written"] for k in kernels])
        for k in found["kernels"]: self.assertGreater(k["us"], 0)
        run = json.loads(cleave("run", graph, "--grad", "--random", "--json").stdout)
        self.assertEqual(found["planned_peak_bytes"], run["planned_peak_bytes"])
        cut = json.loads(cleave("partition", graph, "--json").stdout)
        self.assertEqual(found["saved_activation_bytes"], cut["saved_activation_bytes"])
        self.assertEqual(found["bytes"], len(page.encode()))
        self.assertEqual(found["outside"], [])
        self.assertEqual(found["left_out"], [])
        saved = {v["name"] for v in cut["saved"]}
        self.assertEqual(saved, {r[0][1:] for r in rows(page, "saved") if len(r) == 4 and r[2] == "saved"})

    def test_groups_are_modules_lines_or_operators(self):
        found, page = self.report(BLOCKS, "--time", "0")
        self.assertEqual([g["name"] for g in found["groups"]], ["wte", "blocks.0.fc", "blocks.0", "blocks.1.fc", "blocks.1"])
        self.assertEqual(found["groups"][0]["parameter_bytes"], 50 * 16 * 4)
        self.assertTrue(all(k["us"] is None for k in found["kernels"]))
        self.assertIn("Nothing was timed", page)
        found, _ = self.report(BLOCKS, "--time", "0", "--by", "line")
        self.assertEqual({g["name"]: g["calls"] for g in found["groups"]},
                         {"net.cpp:3": 1, "net.cpp:4": 2, "net.cpp:5": 1, "net.cpp:6": 1, "net.cpp:7": 1})
        found, _ = self.report(BLOCKS, "--time", "0", "--by", "operator")
        self.assertEqual(found["groups"][1], {"name": "mm", "calls": 2, "late": 0, "parameter_bytes": 0})

    def test_a_budget_shows_in_the_peak_and_in_what_is_saved(self):
        whole, _ = self.report(CHAIN, "--grad", "--time", "0")
        less, page = self.report(CHAIN, "--grad", "--time", "0", "--budget", "95%")
        self.assertLess(less["planned_peak_bytes"], whole["planned_peak_bytes"])
        self.assertLess(less["saved_activation_bytes"], whole["saved_activation_bytes"])
        self.assertTrue(any(r[2:3] == ["computed again"] for r in rows(page, "saved")))
        self.assertIn("budget ", page)

    def test_mode_pytorch_shows_its_bans_and_its_knapsack(self):
        _, page = self.report(CHAIN, "--grad", "--time", "0", "--mode", "pytorch", "--budget", "0.5")
        self.assertIn("a knapsack over what the third cut bans", page)
        self.assertTrue(any(r[-1:] == ["kept"] for r in rows(page, "saved")))
        self.assertTrue(any(r[-1:] == ["may run again"] for r in rows(page, "saved")))

    def test_a_call_without_a_kernel_is_named_and_the_rest_is_shown(self):
        text = MLP.replace("  %z = relu(%y)", "  %q = all_reduce(%y; reduce_op=\"sum\", group_name=\"g\")\n  %z = relu(%q)")
        graph, page = self.file("g.clv", text), self.path("r.html")
        if cleave("check", graph).returncode != 0: self.skipTest("no such operator")
        found, page = self.report(text)
        self.assertEqual([(o["op"], o["calls"]) for o in found["outside"]], [("all_reduce", 1)])
        self.assertTrue(any(t.startswith("kernels, memory over time") for t in found["left_out"]))
        self.assertIn("3 of 4 calls are compiled", page)

    def test_hostile_lines_are_shown_and_not_obeyed(self):
        text = BLOCKS.replace("net.cpp:5", "<script>alert(1)</script>.cpp:5")
        _, page = self.report(text, "--time", "0", "--by", "line")
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;alert(1)", page)

    def test_large_graphs_have_a_page_of_a_few_megabytes(self):
        lines = "".join(f"  %v{k} = {'tanh' if k % 3 else 'cos'}(%v{k - 1})  # deep.cpp:{k % 50}\n" for k in range(1, 6000))
        found, page = self.report("graph @main(%x: input f32[8]) {\n  %v0 = sin(%x)  # deep.cpp:0\n" + lines +
                                  "  return %v5999\n}\n", "--time", "0")
        self.assertEqual(found["calls"], 6000)
        self.assertLess(len(page), 4e6)

    def test_a_symbolic_graph_is_taken_at_its_sizes(self):
        text = ("graph @main(%s0: symint range(2,4096) hint(8), %x: input f32[s0,64]) {\n"
                "  %y = tanh(%x)\n  return %y\n}\n")
        found, _ = self.report(text, "--time", "0", "--size", "s0=16")
        self.assertEqual(found["kernels"][0]["read"], 16 * 64 * 4)
        found, _ = self.report(text, "--time", "0")
        self.assertEqual(found["kernels"][0]["read"], 8 * 64 * 4)

    def test_refuses_what_it_can_not_do(self):
        graph = self.file("g.clv", MLP)
        self.refused(cleave("report", graph), 1, "-o")
        self.refused(cleave("report", graph, "-o", "r.html", "--by", "moon"), 1, "--by moon: expected module, line or operator")
        self.refused(cleave("report", graph, "-o", graph), 1, "GRAPH")
        self.refused(cleave("report", graph, "-o", "r.html", "--time", "-1"), 1, "--time -1")
        self.refused(cleave("report", graph, "-o", "/no/such/folder/r.html"), 1, "/no/such/folder/r.html")

    def test_in_chromium_without_errors_or_overlapping_labels(self):
        if chromium_report.find_chromium() is None: self.skipTest("chromium is missing")
        graph = self.path("gpt.clv")
        r = cleave("train", "--text", self.text, "--steps", "0", *TINY, "--save-graph", graph)
        self.assertEqual(r.returncode, 0, r.stderr)
        page = self.path("gpt.html")
        self.assertEqual(cleave("report", graph, "-o", page, "--budget", "80%").returncode, 0)
        seen = chromium_report.look(page)
        self.assertEqual((seen["console"], seen["requests"], seen["errors"]), ([], [], 0))
        self.assertEqual(seen["overlapping"], [])
        self.assertFalse(seen["too_wide"])
        self.assertGreater(seen["texts"], 100)


class Trace(Case):
    def check_nesting(self, events):
        by_thread = {}
        for e in events: by_thread.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
        for all_spans in by_thread.values():
            all_spans.sort(key=lambda s: (s[0], -s[1]))
            open_spans = []
            for begin, end, name in all_spans:
                while open_spans and open_spans[-1][1] <= begin + 1e-6: open_spans.pop()
                if open_spans: self.assertLessEqual(end, open_spans[-1][1] + 1e-6, (name, open_spans[-1]))
                open_spans.append((begin, end, name))

    def test_run_traces_stages_runs_and_steps(self):
        graph, trace = self.file("g.clv", MLP), self.path("t.json")
        r = cleave("run", graph, "--random", "--grad", "--repeat", "7", "--trace", trace, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        events = spans(trace)
        self.check_nesting(events)
        self.assertEqual(sum(e["cat"] == "run" for e in events), 7)
        steps = [e for e in events if e["cat"] in ("kernel", "product")]
        self.assertEqual(len(steps), 7 * json.loads(r.stdout)["kernels"])
        stages = [e["name"] for e in events if e["cat"] == "stage"]
        self.assertEqual(len(stages), len(set(stages)))
        self.assertLessEqual({"autocast", "grad", "fuse", "lower", "emit", "build"}, set(stages))

    def test_a_trace_changes_neither_bits_nor_peak(self):
        graph = self.file("g.clv", CHAIN)
        made = {}
        for name, args in (("plain", []), ("traced", ["--trace", self.path("t.json")])):
            r = cleave("run", graph, "--grad", "--random", "--out", self.path(name), "--json", *args)
            self.assertEqual(r.returncode, 0, r.stderr)
            with open(self.path(name), "rb") as f: made[name] = (f.read(), json.loads(r.stdout)["peak_bytes"])
        self.assertEqual(made["plain"], made["traced"])

    def test_lower_traces_each_run_of_a_region_by_its_tag(self):
        graph, trace = self.file("g.clv", CHAIN), self.path("t.json")
        r = cleave("lower", graph, "--refuse", "sum", "--least-calls", "1", "--random", "--repeat", "3", "--trace", trace, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        regions = [x["tag"] for x in json.loads(r.stdout)["regions"]]
        events = spans(trace)
        self.check_nesting(events)
        self.assertEqual(sorted(e["name"] for e in events if e["cat"] == "region"), sorted(3 * regions))
        # Each run of a region's program is inside a span of it.
        whole = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] == "region"]
        for e in events:
            if e["cat"] == "run":
                self.assertTrue(any(a <= e["ts"] and e["ts"] + e["dur"] <= b for a, b in whole))
        self.refused(cleave("lower", graph, "--trace", trace), 1, "--trace: expected --in or --random")

    def test_train_traces_each_step(self):
        trace = self.path("t.json")
        r = cleave("train", "--text", self.text, "--steps", "5", *TINY, "--trace", trace)
        self.assertEqual(r.returncode, 0, r.stderr)
        events = spans(trace)
        self.check_nesting(events)
        steps = [e for e in events if e["cat"] == "step"]
        self.assertEqual([e["name"] for e in steps], [f"step {k}" for k in range(5)])
        for s in steps:  # the run of a step is inside its span
            self.assertEqual(sum(e["cat"] == "run" and s["ts"] <= e["ts"] and e["ts"] + e["dur"] <= s["ts"] + s["dur"]
                                 for e in events), 1)
        self.assertLessEqual({"autocast", "pre_grad", "verify", "build"}, {e["name"] for e in events if e["cat"] == "stage"})
        self.assertTrue(any(e["cat"] == "attention" for e in events))

    def test_refuses_what_it_can_not_trace(self):
        graph = self.file("g.clv", MLP)
        self.refused(cleave("run", graph, "--random", "--engine", "reference", "--trace", "t.json"), 1, "--trace: of the compiled engine alone")
        self.refused(cleave("run", graph, "--random", "--trace", graph), 1, "--trace")


class Pictures(Case):
    def test_partition_counts_operators_and_rules(self):
        graph = self.file("g.clv", CHAIN)
        for mode in (["--mode", "exact", "--budget", "95%"], ["--mode", "pytorch", "--budget", "0.5"], ["--mode", "default"]):
            r = cleave("partition", graph, *mode, "--json", "--forward", self.path("f.clv"), "--backward", self.path("b.clv"))
            self.assertEqual(r.returncode, 0, r.stderr)
            found = json.loads(r.stdout)
            for half, name in (("forward", "f.clv"), ("backward", "b.clv")):
                in_text = {}
                for op in re.findall(r" = (\w+)\(", contents(self.path(name))): in_text[op] = in_text.get(op, 0) + 1
                self.assertEqual({o["op"]: o[half] for o in found["operators"] if o[half]}, in_text, mode)
            self.assertEqual(sum(d["recomputed"] for d in found["decided"]), len(found["recomputed"]))
            text = cleave("partition", graph, *mode, "--statistics").stdout
            for o in found["operators"]:
                self.assertRegex(text, rf"{o['op']} +{o['forward']} +{o['backward']} +{o['recomputed']}\n")
            self.assertEqual(found["pytorch"] is not None, "pytorch" in mode)
        r = json.loads(cleave("partition", graph, "--mode", "pytorch", "--budget", "0.5", "--json").stdout)["pytorch"]
        kept = sum(i["bytes"] for i in r["items"] if i["kept"])
        self.assertTrue(0 < kept <= r["capacity_bytes"] < r["range_bytes"], r)
        self.assertIn("a knapsack", r["step"])

    def test_a_cut_that_fails_is_drawn_and_the_error_names_the_files(self):
        graph, folder = self.file("g.clv", CONTRADICTION), self.path("pictures")
        r = cleave("partition", graph, "--plot", folder)
        self.refused(r, 1, "can neither be saved nor recomputed")
        for name in ("conflict.svg", "network.svg", "network.dot"):
            self.assertIn(os.path.join(folder, name), r.stderr)
            self.assertTrue(os.path.exists(os.path.join(folder, name)))
        self.assertIn("color=red", contents(os.path.join(folder, "network.dot")))

    def test_opt_draws_before_and_after_each_pass(self):
        graph = self.file("g.clv", MLP.replace("  %y = addmm(%b, %x, %t)", "  %p = mm(%x, %t)\n  %y = add(%p, %b)"))
        folder = self.path("pictures")
        r = cleave("opt", graph, "--pass", "fuse_addmm,drop_noop", "--draw", folder, "-o", self.path("o.clv"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(sorted(os.listdir(folder)), ["01_fuse_addmm_after.svg", "01_fuse_addmm_before.svg",
                                                      "02_drop_noop_after.svg", "02_drop_noop_before.svg"])
        before, after = (contents(os.path.join(folder, f"01_fuse_addmm_{when}.svg")) for when in ("before", "after"))
        self.assertIn("4 calls, 2 gone", before)
        self.assertEqual(before.count("#ffd6d6"), 2)
        self.assertIn("3 calls, 1 new", after)
        self.assertEqual(after.count("#b2f2bb"), 1)
        self.assertIn(">addmm<", after)
        unchanged = contents(os.path.join(folder, "02_drop_noop_after.svg"))
        self.assertIn("3 calls, 0 new", unchanged)


if __name__ == "__main__":
    unittest.main()
