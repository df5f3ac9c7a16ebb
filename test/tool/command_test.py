#!/usr/bin/env python3
"""The `cleave` command as a person uses it: results, exit statuses, messages, files.

    python3 test/tool/command_test.py CLEAVE_BINARY

With CLEAVE_TEST_TARGET=x86-64-v3 every command that takes --target and isn't given one gets that one.
"""
import json, math, os, random, re, signal, struct, subprocess, sys, tempfile, time, unittest, xml.etree.ElementTree

CLEAVE = sys.argv.pop(1)
TARGET = os.environ.get("CLEAVE_TEST_TARGET")
TAKES_TARGET = ("run", "compile", "kernels", "partition", "frontier", "train")
MLP = """graph @main(%w: param f32[3,4] grad, %b: param f32[3] grad, %x: input f32[2,4]) {
  %t = permute(%w; dims=[1,0])
  %y = addmm(%b, %x, %t)
  %z = relu(%y)
  return %z
}
"""
CONTRADICTION = """graph @main(%x: input f32[4,4] grad, %w: param f32[4,4] grad) {
  %m = mm(%x, %w) !recompute(must_recompute, ac=1)
  %v = view(%m; size=[4,4]) !recompute(must_save)
  %s = mm(%v, %w)
  return %s
}
"""
TINY = ["--layers", "2", "--width", "32", "--heads", "2", "--context", "16", "--batch", "3", "--sample", "0"]


def targeted(args):
    if TARGET and args and args[0] in TAKES_TARGET and not any(str(a).startswith("--target") for a in args):
        return [*args, "--target", TARGET]
    return args


def cleave(*args, stdin=None, **kw):
    args = targeted(args)
    return subprocess.run([CLEAVE, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=120, **kw)


def losses(result):
    return [json.loads(l).get("loss") for l in result.stdout.splitlines() if '"loss"' in l]


def contents(path):
    with open(path, "rb") as f: return f.read()


def tensors(path):
    """Name to list of f32 numbers of a .safetensors file."""
    data = contents(path)
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, e in json.loads(data[8:8 + n]).items():
        if name == "__metadata__": continue
        raw = data[8 + n + e["data_offsets"][0]:8 + n + e["data_offsets"][1]]
        out[name] = struct.unpack("<%df" % (len(raw) // 4), raw) if e["dtype"] == "F32" else raw
    return out


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.text = self.file("book.txt", "".join(random.Random(1).choices("abc de\n", k=4000)))

    def file(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb" if isinstance(data, bytes) else "w") as f: f.write(data)
        return path

    def path(self, name): return os.path.join(self.folder.name, name)

    def refused(self, result, status, *parts):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("cleave: "), result.stderr)
        for p in parts: self.assertIn(p, result.stderr)


class Help(Case):
    def test_lists_and_explains_each_command(self):
        listing = cleave("help")
        self.assertEqual(listing.returncode, 0)
        for name in ("check", "print", "run", "grad", "partition", "frontier", "remat", "plan", "compile", "kernels", "train"):
            self.assertIn(name, listing.stdout)
            one = cleave("help", name)
            self.assertEqual(one.returncode, 0)
            self.assertIn("example:\n  cleave " + name, one.stdout)

    def test_unknown_command_and_option_name_the_nearest(self):
        self.refused(cleave("partitoin"), 1, "did you mean partition?")
        self.refused(cleave("run", "g.clv", "--treads", "2"), 1, "--treads", "did you mean --threads?")
        self.refused(cleave("run"), 1, "GRAPH")
        self.refused(cleave("train", "--text", self.text, "--steps", "many"), 1, "--steps")


class Graphs(Case):
    def test_check_is_silent_and_counts(self):
        g = self.file("m.clv", MLP)
        self.assertEqual((cleave("check", g).stdout, cleave("check", g).returncode), ("", 0))
        self.assertEqual(json.loads(cleave("check", "--json", "-", stdin=MLP).stdout), {"nodes": 3, "graphs": 1})

    def test_print_is_a_fixed_point(self):
        once = cleave("print", "-", stdin=MLP)
        self.assertEqual(once.returncode, 0, once.stderr)
        self.assertEqual(cleave("print", "-", stdin=once.stdout).stdout, once.stdout)

    def test_errors_point_at_the_place(self):
        self.refused(cleave("check", "-", stdin=MLP.replace("relu(%y)", "relu(%yy)")), 1, "stdin:4:", "%yy", "^")
        self.refused(cleave("check", "-", stdin=MLP.replace("relu", "reluu")), 1, "reluu", "relu")
        self.refused(cleave("check", "-", stdin=MLP.replace("relu", "_cdist_forward")), 2, "_cdist_forward")
        self.refused(cleave("check", self.path("none.clv")), 1, "none.clv")
        self.refused(cleave("check", self.folder.name), 1, "folder")

    def test_engines_agree_and_grad_gives_gradients(self):
        g = self.file("m.clv", MLP)
        a, b = self.path("a.safetensors"), self.path("b.safetensors")
        r = cleave("run", g, "--random", "--grad", "--out", a, "--json", "--repeat", "3")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual(set(report), {"compile_ms", "run_ms", "kernels", "peak_bytes", "planned_peak_bytes", "target"})
        self.assertEqual(report["peak_bytes"], report["planned_peak_bytes"])
        self.assertEqual(cleave("run", g, "--random", "--grad", "--out", b).returncode, 0)
        x, y = tensors(a), tensors(b)
        self.assertEqual(set(x), {"out.0", "grad.w", "grad.b"})
        self.assertEqual(x, y)
        self.assertTrue(any(v != 0 for v in x["grad.w"]))
        c = self.path("c.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--grad", "--engine", "reference", "--out", c).returncode, 0)
        wide = tensors(c)["out.0"]
        want = struct.unpack("<%dd" % (len(wide) // 8), wide)
        for got, w in zip(x["out.0"], want): self.assertAlmostEqual(got, w, delta=1e-5)

    def test_reference_writes_results_unrounded(self):
        text = """graph @main(%x: input f16[1]) {
  %y = mul(%x; other=65504.0)
  %z = _to_copy(%y; dtype=f32)
  return %y, %z, %x
}
"""
        out = self.path("out.safetensors")
        r = cleave("run", self.file("h.clv", text), "--random", "--engine", "reference", "--out", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        numbers = {name: struct.unpack("<d", raw)[0] for name, raw in tensors(out).items()}
        self.assertEqual(numbers["out.0"], 65504 * numbers["out.2"])
        half = lambda x: struct.unpack("<e", struct.pack("<e", x))[0] if abs(x) < 65520 else math.copysign(math.inf, x)
        self.assertEqual(numbers["out.1"], half(numbers["out.0"]))  # what a call reads is rounded
        self.assertNotEqual(numbers["out.1"], numbers["out.0"])
        self.assertIn("unrounded", cleave("help", "run").stdout)

    def test_missing_inputs_are_named(self):
        self.refused(cleave("run", "-", stdin=MLP), 1, "w", "--random")

    def test_partition_halves_fit(self):
        g, f, b = self.file("m.clv", MLP), self.path("f.clv"), self.path("b.clv")
        r = cleave("partition", g, "--mode", "default", "--json", "--forward", f, "--backward", b)
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual(cleave("check", f).returncode, 0)
        self.assertEqual(cleave("check", b).returncode, 0)
        self.assertEqual(report["forward"]["inputs"], 3)
        self.assertGreater(len(report["saved"]), 0)
        self.refused(cleave("partition", g, "--mode", "fast"), 1, "fast")

    def test_rules_of_mode_pytorch_are_options(self):
        g = self.file("m.clv", MLP)
        for rule in (["--aggressive"], ["--ban", "reductions=off,used_far_apart=off"], ["--recompute-views"],
                     ["--ban", "not_in_allowlist=off", "--ban", "reductions=on"], ["--max-distance", "3"]):
            self.assertEqual(cleave("partition", *rule, "--mode", "pytorch", g).returncode, 0)
        self.refused(cleave("partition", g, "--mode", "pytorch", "--ban", "reduction=off"), 1, "no such rule", "reductions")
        self.refused(cleave("partition", g, "--mode", "pytorch", "--ban", "reductions"), 1, "NAME=off")
        self.refused(cleave("partition", g, "--aggressive"), 1, "mode pytorch alone")

    def test_pictures_and_reasons(self):
        g, d = self.file("m.clv", MLP), self.path("pictures")
        r = cleave("partition", g, "--plot", d, "--budget", "100%", "--explain")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("a placeholder, in memory anyway", r.stdout)
        self.assertEqual(sorted(os.listdir(d)), ["cut.svg", "frontier.svg", "memory.svg"])
        for name in os.listdir(d): self.assertEqual(xml.etree.ElementTree.parse(os.path.join(d, name)).getroot().tag[-3:], "svg")
        r = cleave("frontier", g, "--plot", self.path("more"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(os.listdir(self.path("more")), ["frontier.svg"])
        self.refused(cleave("partition", g, "--plot", g), 1, "--plot")

    def test_contradictory_tags_are_drawn(self):
        g = self.file("c.clv", CONTRADICTION)
        self.refused(cleave("partition", g, "--plot", self.path("p")), 1, "%m: tagged must_recompute", "%v: a view")
        self.assertEqual(os.listdir(self.path("p")), ["conflict.svg"])

    def test_estimator_profile_measures(self):
        g = self.file("m.clv", MLP)
        r = cleave("partition", g, "--mode", "pytorch", "--budget", "0.5", "--estimator", "profile", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_grad_writes_a_joint_graph(self):
        r = cleave("grad", "-", stdin=MLP)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("-> grad %w", r.stdout)
        self.assertEqual(cleave("check", "-", stdin=r.stdout).returncode, 0)

    def test_grad_of_conds_that_share_branches_is_linear(self):
        text = "graph @l0(%a: input f32[3]) {\n  %r = sin(%a)\n  return %r\n}\n"
        for k in range(1, 41):
            name, grad = ("main", " grad") if k == 40 else (f"l{k}", "")
            text += (f"graph @{name}(%a: input f32[3]{grad}) {{\n  %s = sum(%a)\n  %p = gt(%s; other=0.0)\n"
                     f"  %c = cond(%p, [%a]; then=@l{k - 1}, otherwise=@l{k - 1})\n  %r = mul(%c, %a)\n  return %r\n}}\n")
        r = cleave("grad", "-", stdin=text)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertLess(len(r.stdout), 20 * len(text))
        self.assertEqual(cleave("check", "-", stdin=r.stdout).returncode, 0)

    def test_autocast_is_an_option_of_what_takes_forward_graphs(self):
        g = self.file("m.clv", MLP)
        cast = cleave("print", g, "--autocast", "bf16")
        self.assertEqual(cast.returncode, 0, cast.stderr)
        self.assertIn("_to_copy(%w; dtype=bf16)", cast.stdout)
        joint = cleave("grad", g, "--autocast", "bf16").stdout
        self.assertEqual(joint, cleave("grad", "-", stdin=cast.stdout).stdout)
        for command in (["run", g, "--random", "--grad"], ["partition", g], ["kernels", g, "--grad"], ["frontier", g]):
            r = cleave(*command, "--autocast", "f16")
            self.assertEqual(r.returncode, 0, r.stderr)
        self.refused(cleave("run", g, "--random", "--autocast", "f32"), 1, "--autocast f32: expected bf16 or f16")
        self.refused(cleave("run", "-", "--random", "--autocast", "bf16", stdin=joint), 1, "autocast comes before")


DYNAMIC = """graph @main(%s0: symint range(2,64) hint(8), %x: input f32[s0,4]) {
  %y = relu(%x)
  %z = add(%y, %x)
  return %z
}
"""


TWICE = MLP.replace("  return %z", "  %u = relu(%y)\n  return %z, %u")


class Compile(Case):
    def stages(self, *args):
        r = cleave("compile", *args, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertLessEqual({"stages", "compile_ms"}, set(report))
        for s in report["stages"]: self.assertEqual(set(s), {"name", "ms", "nodes"})
        self.assertAlmostEqual(sum(s["ms"] for s in report["stages"]), report["compile_ms"], delta=0.01)
        return report

    def test_stages_are_files_that_read_back(self):
        for text in (TWICE, cleave("grad", "-", stdin=TWICE).stdout):
            g, d = self.file("m.clv", text), self.path("stages" + str(len(text)))
            report = self.stages(g, "--dump", d)
            names = [s["name"] for s in report["stages"]]
            self.assertEqual(len(set(names)), len(names))
            files = sorted(os.listdir(d))
            graphs = [f for f in files if f.endswith(".clv")]
            self.assertGreaterEqual(len(graphs), 2, files)  # as given, and with one relu
            for f in files: self.assertTrue(any(f[3:].startswith(n) for n in [*names, "unit"]), f)
            for f in graphs:
                r = cleave("check", os.path.join(d, f), "--json")
                self.assertEqual(r.returncode, 0, r.stderr)
                by_name = {s["name"]: s["nodes"] for s in report["stages"]}
                if json.loads(r.stdout)["graphs"] == 1: self.assertEqual(json.loads(r.stdout)["nodes"], by_name[f[3:-4]])
            self.assertEqual(contents(os.path.join(d, graphs[0])).decode(), cleave("print", g).stdout)
            self.assertTrue(any(f.endswith(".c") for f in files), files)
            [loops] = [os.path.join(d, f) for f in files if f.endswith(".loops")]
            r = cleave("check", loops, "--json")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(json.loads(r.stdout)["kernels"], contents(loops).count(b"kernel %"))

    def test_kernels_are_refused_by_place(self):
        f = self.file("k.loops", "kernel %y(%y: f32[4] write) {\n  %y[i] = 1.0\n}\n")
        self.refused(cleave("check", f), 1, "k.loops:2:6: L2", "'i' is not known")

    def test_passes_are_chosen(self):
        g = self.file("m.clv", TWICE)
        def nodes(*args): return {s["name"]: s["nodes"] for s in self.stages(g, *args)["stages"]}["decomposed"]
        self.assertEqual(nodes("--passes", "off"), nodes() + 1)
        self.assertEqual(nodes("--off", "merge_equal"), nodes() + 1)
        self.refused(cleave("compile", g, "--passes", "some"), 1, "--passes some", "on or off")
        self.refused(cleave("compile", g, "--off", "no_such"), 1, "no_such")

    def test_text_lists_the_stages(self):
        r = cleave("compile", "-", stdin=MLP)
        self.assertEqual(r.returncode, 0, r.stderr)
        for name in ("verify", "lower", "build", "planned peak"): self.assertIn(name, r.stdout)

    def test_symints_need_sizes(self):
        g = self.file("d.clv", DYNAMIC)
        self.refused(cleave("compile", g), 1, "%s0 in [2, 64]", "--size s0=N", "--in")
        self.refused(cleave("compile", g, "--size", "s0=1"), 1, "s0", "[2, 64]")
        self.refused(cleave("compile", g, "--size", "s1=8"), 1, "no symint %s1")
        self.refused(cleave("compile", g, "--size", "x=8"), 1, "no symint %x")
        self.refused(cleave("compile", g, "--size", "s0=8,s0=9"), 1, "already")
        for word in ("s0", "s0=", "s0=eight", "s0=8x", "=8"): self.refused(cleave("compile", g, "--size", word), 1, "--size")
        self.assertEqual([s["nodes"] for s in self.stages(g, "--size", "s0=8")["stages"]][0], 2)

    def test_wrong_places_and_budgets_are_refused(self):
        g = self.file("m.clv", MLP)
        self.refused(cleave("compile", g, "--dump", g), 1, "m.clv")
        self.refused(cleave("compile", self.path("none.clv"), "--dump", self.path("d")), 1, "none.clv")
        self.assertFalse(os.path.exists(self.path("d")))
        self.refused(cleave("compile", g, "--budget", "1"), 1, "least peak found")
        self.refused(cleave("compile", g, "--threads", "-1"), 1, "--threads")


class Kernels(Case):
    """What a graph becomes, and what that moves."""

    GRAPH = """graph @main(%x: input f32[10] grad) {
  %a = cos(%x)
  %b = cos(%a)
  return %b
}
"""

    def report(self, *args):
        r = cleave("kernels", self.file("k.clv", self.GRAPH), "--json", *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def test_a_chain_reads_and_writes_once(self):
        report = self.report()
        self.assertEqual(report["elements"], 20)
        self.assertEqual([(k["kind"], k["read"], k["written"]) for k in report["kernels"]], [("kernel", 10, 10)])

    def test_unfused_each_call_is_a_kernel(self):
        self.assertEqual(self.report("--fuse", "off")["elements"], 40)

    def test_forward_and_backward_are_one_program(self):
        """x and the cotangent are read, both results written, by the one kernel that `run --grad` runs."""
        report = self.report("--grad")
        self.assertEqual(report["elements"], 40)
        ran = json.loads(cleave("run", self.file("k.clv", self.GRAPH), "--grad", "--random", "--json").stdout)
        self.assertEqual(ran["kernels"], len(report["kernels"]))
        self.assertEqual(report["saved"], ["x"])

    def test_wrong_options_are_refused(self):
        self.refused(cleave("kernels", self.file("k.clv", self.GRAPH), "--fuse", "some"), 1, "expected on or off")
        self.refused(cleave("kernels", self.file("k.clv", self.GRAPH), "--time", -1), 1, "expected 0 to")

    def test_steps_are_timed_beside_a_copy(self):
        r = cleave("kernels", self.file("k.clv", self.GRAPH), "--json", "--time", 3, "--threads", 1)
        self.assertEqual(r.returncode, 0, r.stderr)
        times = json.loads(r.stdout)["times"]
        self.assertGreater(times["copy_gb_per_s"], 0)
        self.assertEqual([(s["kind"], s["bytes"]) for s in times["steps"]], [("kernel", 80)])
        self.assertTrue(all(s["us"] > 0 and s["share_of_copy"] > 0 for s in times["steps"]))
        self.refused(cleave("kernels", self.path("none.clv")), 1, "none.clv")


CHAIN = """graph @main(%x: input f32[64,64] grad, %w: input f32[64,64], %rng: rng_state i64[2]) {
  %a0 = cos(%x)
  %d, %m = native_dropout(%a0, %rng; p=0.3, train=true, stream=1)
""" + "".join(f"  %p{k} = mm(%{'d' if k == 1 else f'a{k - 1}'}, %w)\n  %a{k} = cos(%p{k})\n" for k in range(1, 12)) + "  %s = sum(%a11; dim=[])\n  return %s\n}\n"


class Targets(Case):
    """A program may be planned and compiled for any target, and runs where this machine has it."""

    ALL = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16")

    def test_each_runs_or_is_unsupported_here(self):
        graph = self.file("chain.clv", CHAIN)
        ran = []
        for target in ("native", *self.ALL):
            r = cleave("run", graph, "--random", "--seed", 3, "--grad", "--json", "--target", target)
            if r.returncode == 2:
                self.assertIn("this machine has no more than", r.stderr)
                continue
            self.assertEqual(r.returncode, 0, r.stderr)
            told = json.loads(r.stdout)
            self.assertEqual(told["target"], target)
            self.assertEqual(told["peak_bytes"], told["planned_peak_bytes"])
            ran.append(target)
        self.assertEqual(ran, ["native", *self.ALL][:len(ran)])
        self.assertGreaterEqual(len(ran), 2)

    def test_elementwise_results_and_sums_have_the_same_bits(self):
        text = """graph @main(%x: input f32[33,130] grad, %h: input bf16[33,130]) {
  %e = exp(%x)
  %t = tanh(%e)
  %s = sum(%t; dim=[0])
  %p = _softmax(%x; dim=1, half_to_float=false)
  %m = var(%x; dim=[1], keepdim=true)
  %g = gelu(%h)
  %w = sum(%g; dim=[1])
  return %t, %s, %p, %m, %g, %w
}
"""
        graph, out, want = self.file("same.clv", text), self.path("out.safetensors"), None
        for compiler in ("automatic", "cc"):
            for target in self.ALL:
                r = cleave("run", graph, "--random", "--seed", 7, "--grad", "--out", out, "--compiler", compiler, "--target", target)
                if r.returncode == 2: continue
                self.assertEqual(r.returncode, 0, r.stderr)
                want = want or contents(out)
                self.assertEqual(contents(out), want, f"{compiler} {target}")

    def test_what_only_plans_takes_any(self):
        graph = self.file("chain.clv", CHAIN)
        for target in ("native", *self.ALL):
            for command in ("partition", "frontier", "kernels", "compile"):
                r = cleave(command, graph, "--json", "--target", target)
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(json.loads(r.stdout)["target"], target)

    def test_what_is_refused(self):
        graph = self.file("chain.clv", CHAIN)
        train = ("train", "--text", self.text, *TINY)
        for command in (("run", graph, "--random"), ("compile", graph), ("partition", graph), ("frontier", graph), ("kernels", graph), train):
            self.refused(cleave(*command, "--target", "aarch64"), 2, "aarch64", "x86-64-v3")
            self.refused(cleave(*command, "--target", "x86-64-v9"), 1, "x86-64-v9", "native, x86-64-v2")


class Budget(Case):
    """A budget is the step's true peak, and changes no bit of a result."""

    def run_with(self, *args):
        out = self.path("out.safetensors")
        r = cleave("run", self.file("chain.clv", CHAIN), "--random", "--seed", "3", "--grad", "--json", "--out", out, *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout), contents(out)

    def test_run_keeps_it_bit_for_bit(self):
        for target in Targets.ALL:
            with self.subTest(target=target): self.run_keeps_it("--target", target)

    def run_keeps_it(self, *target):
        graph = self.file("chain.clv", CHAIN)
        refused = cleave("run", graph, "--random", "--grad", "--budget", "1B", *target)
        if refused.returncode == 2: self.skipTest(refused.stderr)
        least = int(re.search(r"Give at least (\d+) B", refused.stderr)[1])
        whole, want = self.run_with("--mode", "default", *target)
        last = whole["peak_bytes"]
        self.assertLess(least, 0.6 * last)  # the workspaces of the products don't outweigh what is saved
        for percent in (100, 80, 60, 30, 0):
            budget = least + (last - least) * percent // 100
            got, bits = self.run_with("--budget", f"{budget}B", *target)
            self.assertEqual(bits, want)
            self.assertEqual(got["peak_bytes"], got["planned_peak_bytes"])
            self.assertLessEqual(got["peak_bytes"], budget)
        part, bits = self.run_with("--budget", "60%", *target)
        self.assertEqual(bits, want)
        self.assertLessEqual(part["peak_bytes"], 0.6 * whole["peak_bytes"])

    def test_pytorch_s_choice_runs_bit_for_bit(self):
        whole, want = self.run_with("--mode", "default")
        kernels = []
        for budget in ("1", "0.5", "0"):
            got, bits = self.run_with("--mode", "pytorch", "--budget", budget)
            self.assertEqual(bits, want)
            self.assertEqual(got["peak_bytes"], got["planned_peak_bytes"])
            kernels.append(got["kernels"])
        self.assertEqual(kernels, sorted(kernels))
        self.assertGreater(kernels[-1], whole["kernels"])  # what runs again is there
        graph = self.file("chain.clv", CHAIN)
        self.refused(cleave("run", graph, "--random", "--mode", "pytorch"), 1, "--grad", "joint graph")
        self.refused(cleave("run", graph, "--random", "--grad", "--mode", "pytorch", "--budget", "2"), 1, "2")

    def test_autocast_has_the_same_bits_in_every_mode(self):
        for dtype in ("bf16", "f16"):
            _, want = self.run_with("--autocast", dtype, "--mode", "default")
            for mode in (["exact"], ["exact", "--budget", "90%"], ["pytorch"], ["pytorch", "--budget", "0.5"], ["pytorch", "--budget", "0"]):
                self.assertEqual(self.run_with("--autocast", dtype, "--mode", *mode)[1], want, (dtype, mode))

    def test_one_that_cannot_be_met_names_the_least(self):
        graph = self.file("chain.clv", CHAIN)
        r = cleave("run", graph, "--random", "--grad", "--budget", "1KiB")
        self.refused(r, 1, "1024 B", "least peak found", "no program takes less than")
        r = cleave("partition", graph, "--budget", "1KiB")
        self.refused(r, 1, "1024 B", "least peak found", "no cut needs less than")

    def test_nonsense_is_refused(self):
        graph = self.file("chain.clv", CHAIN)
        for budget in ("0", "0%", "-1", "101%", "abc", "5 parsecs", "nan%"):
            for command in (("run", graph, "--random"), ("partition", graph), ("train", "--text", self.text, *TINY)):
                r = cleave(*command, f"--budget={budget}")
                self.refused(r, 1, "expected")
                self.assertEqual(r.stderr.count("error:"), 1, r.stderr)
        self.refused(cleave("partition", graph, "--mode", "default", "--budget", "1MiB"), 1, "takes none")

    def test_partition_and_frontier_agree(self):
        graph = self.file("chain.clv", CHAIN)
        points = json.loads(cleave("frontier", graph, "--json").stdout)["points"]
        self.assertGreater(len(points), 3)
        for a, b in zip(points, points[1:]):
            self.assertGreater(a["saved_bytes"], b["saved_bytes"])
            self.assertLessEqual(a["recompute_cost_ns"], b["recompute_cost_ns"])
        self.assertEqual(points[0]["recompute_cost_ns"], 0)
        before = None
        for point in sorted(points, key=lambda p: -p["peak_bytes"]):
            r = cleave("partition", graph, "--budget", point["peak_bytes"], "--json")
            self.assertEqual(r.returncode, 0, r.stderr)
            cut = json.loads(r.stdout)
            self.assertLessEqual(cut["planned_peak_bytes"], point["peak_bytes"])
            self.assertLessEqual(cut["lower_bound_bytes"], cut["planned_peak_bytes"])
            self.assertLessEqual(cut["recompute_cost_ns"], point["recompute_cost_ns"])
            if before: self.assertGreaterEqual(cut["recompute_cost_ns"], before["recompute_cost_ns"])
            before = cut
        saved = json.loads(cleave("partition", graph, "--saved-bytes", "40KiB", "--json").stdout)
        self.assertLessEqual(saved["saved_activation_bytes"], 40 << 10)

    def test_contradictory_tags_are_one_error(self):
        text = ("graph @main(%x: input f32[4] grad, %y: input f32[2,2] grad) {\n"
                "  %a = cos(%x) !recompute(must_recompute, ac=1)\n"
                "  %v = view(%a; size=[2,2]) !recompute(must_save, ac=1)\n  %b = mul(%v, %y)\n  return %b\n}\n")
        self.refused(cleave("partition", self.file("tags.clv", text)), 1, "can neither be saved nor recomputed", "%a: tagged must_recompute")

    def test_training_keeps_it_with_the_same_losses(self):
        whole = cleave("train", "--text", self.text, *TINY, "--steps", "3", "--json")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        last = json.loads(whole.stdout.splitlines()[-1])
        r = cleave("train", "--text", self.text, *TINY, "--steps", "3", "--json", "--budget", "90%")
        self.assertEqual(r.returncode, 0, r.stderr)
        end = json.loads(r.stdout.splitlines()[-1])
        self.assertEqual(losses(r), losses(whole))
        self.assertEqual(end["peak_bytes"], end["planned_peak_bytes"])
        self.assertLessEqual(end["peak_bytes"], 0.9 * last["peak_bytes"])


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
        args = targeted(["train", "--text", self.text, *TINY, "--json", "--steps", "12", "--out", out, *extra])
        p = subprocess.Popen([CLEAVE, *args],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(lines): p.stdout.readline()
        p.send_signal(signal.SIGSTOP)
        p.send_signal(signal.SIGINT)
        p.send_signal(signal.SIGCONT)
        _, err = p.communicate(timeout=60)
        if p.returncode == 0:  # all steps were done before the signal came
            self.skipTest("the run ended before it could be interrupted")
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


BUFFERS = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"


class Plan(Case):
    def rows(self, text): return [line.split(",") for line in text.splitlines()]

    def test_offsets_are_added(self):
        out = self.path("out.csv")
        r = cleave("plan", self.file("b.csv", BUFFERS), "--json", "-o", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        told = json.loads(r.stdout)
        self.assertEqual((told["height"], told["lower_bound"], told["optimal"]), (12, 12, True))
        self.assertGreaterEqual(told["solve_ms"], 0)
        with open(out) as f: rows = self.rows(f.read())
        self.assertEqual(rows[0], ["id", "lower", "upper", "size", "offset"])
        self.assertEqual([",".join(r[:4]) for r in rows], BUFFERS.splitlines())
        buffers = [tuple(map(int, r[1:])) for r in rows[1:]]
        for i, (l, u, size, at) in enumerate(buffers):
            self.assertTrue(0 <= at <= 12 - size)
            for l2, u2, size2, at2 in buffers[:i]:
                self.assertTrue(u <= l2 or u2 <= l or at + size <= at2 or at2 + size2 <= at)

    def test_columns_may_come_in_any_order(self):
        text = "size,note,upper,id,lower\r\n7,x,2,a,0\r\n\r\n5, y ,3,b,1\r\n"
        r = cleave("plan", "-", "-o", "-", stdin=text)
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = self.rows(r.stdout)
        self.assertEqual(rows[0][-1], "offset")
        self.assertEqual(sorted((int(r[0]), int(r[-1])) for r in rows[1:]) in ([(5, 7), (7, 0)], [(5, 0), (7, 5)]), True)

    def test_a_capacity_is_kept_or_refused_with_the_best_height(self):
        file = self.file("b.csv", BUFFERS)
        self.assertEqual(cleave("plan", file, "--capacity", "12B").returncode, 0)
        r = cleave("plan", file, "--capacity", 11, "--json", "-o", self.path("none.csv"))
        self.refused(r, 1, "11", "12")
        self.assertEqual(json.loads(r.stdout)["height"], 12)
        self.assertFalse(os.path.exists(self.path("none.csv")))
        for size in ("-1", "x", "12 apples", "", "9" * 30):
            self.refused(cleave("plan", file, f"--capacity={size}"), 1, "capacity")

    def test_alignment(self):
        r = cleave("plan", self.file("b.csv", BUFFERS), "--alignment", 64, "--json")
        self.assertEqual(json.loads(r.stdout)["height"], 192)
        self.refused(cleave("plan", self.file("b.csv", BUFFERS), "--alignment", 0), 1, "alignment 0")

    def test_bad_tables_are_refused_with_their_line(self):
        head = "id,lower,upper,size\n"
        for text, parts in (("", ["is empty"]), (head, ["no buffer"]), ("id,lower,upper\na,0,1\n", [":1:", "`size`"]),
                            ("id,lower,upper,size,size\na,0,1,2,3\n", [":1:", "twice"]), (head + "a,0,1,x\n", [":2:", "no integer"]),
                            (head + "a,0,1,4\nb,0,1.5,4\n", [":3:", "upper"]), (head + "a,0,1,-4\n", [":2:", "negative"]),
                            (head + "a,5,5,4\n", [":2:", "not below"]), (head + "a,0,1,4\na,1,2,4\n", [":3:", "given twice", "line 2"]),
                            (head + f"a,0,1,{2**62}\nb,4,5,1\n", [":3:", "2^62"]), (head + f"a,0,1,{2**64}\n", [":2:", "64 bits"]),
                            (head + "a,0,1\n", [":2:", "3 fields"]), (head + "a,0,1,4,5\n", [":2:", "5 fields"]),
                            (head + ",0,1,4\n", [":2:", "id is empty"]), (head + "a,,1,4\n", [":2:", "lower"]),
                            ("id,lower,upper,size,offset\na,0,1,4,0\n", [":1:", "offset"]), (b"\x00\xff" * 99, [":1:", "no column"])):
            r = cleave("plan", self.file("bad.csv", text))
            self.refused(r, 1, "bad.csv", *parts)
            self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        self.refused(cleave("plan", self.path("absent.csv")), 1, "absent.csv")


REMAT = json.dumps({"graph": {}, "nodes": [{"id": k, "cost_ram": 4, "cost_cpu": 1} for k in range(3)],
                    "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]})


class Outputs(Case):
    def lines(self):
        """A line of each command that prints, and of each form in which it does."""
        g, r, b = self.file("m.clv", MLP), self.file("r.json", REMAT), self.file("b.csv", "id,lower,upper,size\na,0,2,4\n")
        x = self.path("x.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--out", x).returncode, 0)
        return [["help"], ["help", "run"], ["check", g, "--json"], ["print", g], ["grad", g], ["run", g, "--random"], ["run", g, "--random", "--json"],
                ["run", g, "--random", "--out", "-"], ["partition", g], ["partition", g, "--json"], ["partition", g, "--explain"],
                ["partition", g, "--forward", "-"], ["frontier", g], ["frontier", g, "--json"], ["kernels", g], ["kernels", g, "--json"],
                ["compile", g], ["compile", g, "--json"], ["remat", r, "--peak-percent", 100], ["remat", r, "--peak-percent", 100, "--json"],
                ["plan", b], ["plan", b, "--json"], ["plan", b, "-o", "-"], ["opt", "--list"], ["opt", "--list", "--json"], ["opt", g], ["opt", g, "--json"],
                ["train", "--text", self.text, "--steps", 2, *TINY], ["train", "--text", self.text, "--steps", 2, "--json", *TINY]]

    def run_to(self, line, stdout):
        """stdout: full, closed, or gone: a pipe that nobody reads."""
        if stdout == "full": end = os.open("/dev/full", os.O_WRONLY)
        else:
            reader, end = os.pipe()
            os.close(reader)
        try:
            return subprocess.run([CLEAVE, *map(str, line)], stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.PIPE, text=True, timeout=120,
                                  preexec_fn=(lambda: os.close(1)) if stdout == "closed" else None)
        finally: os.close(end)

    def test_results_that_stdout_loses_are_an_error(self):
        for line in self.lines():
            for stdout in ("full", "closed", "gone"):
                with self.subTest(line=line[:4], stdout=stdout):
                    r = self.run_to(line, stdout)
                    self.assertEqual(r.returncode, 1, r.stderr)
                    self.assertIn("cleave: error: stdout: cannot write", r.stderr)

    def test_who_has_nothing_to_say_needs_no_stdout(self):
        for stdout in ("full", "closed", "gone"):
            self.assertEqual(self.run_to(["check", self.file("m.clv", MLP)], stdout).returncode, 0)

    # The first file that a command opens would otherwise be its stdout.
    def test_a_closed_stdout_is_no_file(self):
        g, j = self.file("m.clv", MLP), self.path("j.clv")
        self.refused(self.run_to(["grad", g, "-o", j, "--json"], "closed"), 1, "cannot write")
        self.assertEqual((contents(g), cleave("check", j).returncode), (MLP.encode(), 0))
        self.refused(self.run_to(["grad", g, "-o", "/dev/stdout"], "closed"), 1, "/dev/stdout")

    def test_training_stops_where_nobody_reads_and_keeps_its_checkpoint(self):
        c = self.path("c.safetensors")
        self.refused(self.run_to(["train", "--text", self.text, "--steps", 100000, "--json", "--out", c, *TINY], "full"), 1, "cannot write")
        self.assertIn("blocks.0.qkv.weight", tensors(c))

    def test_results_on_stdout_stand_alone(self):
        g, x = self.file("m.clv", MLP), self.path("x.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--out", x).returncode, 0)
        with open(self.path("y.safetensors"), "wb") as f: subprocess.run([CLEAVE, "run", g, "--random", "--out", "-"], stdout=f, check=True)
        piped = subprocess.run([CLEAVE, "run", g, "--random", "--out", "-"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(contents(self.path("y.safetensors")), contents(x))
        self.assertEqual(piped, contents(x))
        half = cleave("partition", g, "--forward", "-")
        self.assertEqual(cleave("check", "-", stdin=half.stdout).returncode, 0)
        self.assertIn("values saved", half.stderr)
        self.assertEqual(set(json.loads(cleave("opt", "--list", "--json").stdout)["passes"][0]), {"name", "stage", "rules", "asked", "summary"})

    def test_two_things_are_not_on_one_stdout_or_stdin(self):
        g, b = self.file("m.clv", MLP), self.file("b.csv", "id,lower,upper,size\na,0,2,4\n")
        for line in (["plan", b, "-o", "-"], ["grad", g, "-o", "-"], ["opt", g, "-o", "-"], ["run", g, "--random", "--out", "-"], ["partition", g, "--forward", "-"],
                     ["partition", g, "--backward", "/dev/stdout"]):
            self.refused(cleave(*line, "--json"), 1, "both would go to stdout")
        self.refused(cleave("partition", g, "--forward", "-", "--backward", "-"), 1, "both would go to stdout")
        self.refused(cleave("run", "-", "--in", "-", stdin=MLP), 1, "both stdin")

    def test_two_results_never_share_a_file(self):
        g, f = self.file("m.clv", MLP), self.path("f.clv")
        for other in (f, os.path.join(self.folder.name, ".", "f.clv")):
            self.refused(cleave("partition", g, "--forward", f, "--backward", other), 1, "--forward", "--backward", "name one file")
            self.assertFalse(os.path.exists(f))
        self.file("f.clv", "kept")
        os.symlink(f, self.path("link.clv"))
        os.link(f, self.path("hard.clv"))
        for other in ("link.clv", "hard.clv"): self.refused(cleave("partition", g, "--forward", f, "--backward", self.path(other)), 1, "name one file")
        self.assertEqual(contents(f), b"kept")
        self.assertEqual(cleave("partition", g, "--forward", "/dev/null", "--backward", "/dev/null").returncode, 0)
        self.refused(cleave("train", "--text", self.text, "--out", f, "--save-init", f, *TINY), 1, "name one file")

    def test_inputs_are_not_lost(self):
        g, x = self.file("m.clv", MLP), self.path("x.safetensors")
        self.assertEqual(cleave("run", g, "--random", "--out", x).returncode, 0)
        for line in (["grad", g, "-o", g], ["run", g, "--random", "--out", g], ["partition", g, "--backward", g], ["run", g, "--in", x, "--out", x],
                     ["train", "--text", self.text, "--out", self.text]):
            self.refused(cleave(*line), 1, "which would be lost")
        self.assertEqual(contents(g), MLP.encode())
        self.assertEqual(cleave("opt", g, "-o", g).returncode, 0)  # the same program
        self.refused(cleave("train", "--text", self.text, "--out", "-", *TINY), 1, "--out -")


class Options(Case):
    def test_times_are_of_the_sizes_that_are_counted(self):
        r = cleave("kernels", "-", "--time", 1, "--json", stdin="graph @main(%s0: symint hint(8), %x: input f32[s0,4]) {\n  %y = sin(%x)\n  return %y\n}\n")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual((report["elements"], [s["bytes"] for s in report["times"]["steps"]]), (64, [256]))

    def test_numbers_beyond_their_bits_are_refused(self):
        g = self.file("m.clv", MLP)
        for word in ("9223372036854775808", "-9223372036854775809", "99999999999999999999", "1.5", "0x10", "", "5 "):
            self.refused(cleave("run", g, "--random", "--seed", word), 1, "--seed", "is not an integer from")
        for word in ("18446744073709551616", "-1"): self.refused(cleave("train", "--text", self.text, "--seed", word), 1, "--seed", "is not an integer from 0 to")
        self.refused(cleave("run", g, "--random", "--repeat", "2147483648"), 1, "--repeat")
        self.refused(cleave("train", "--text", self.text, "--lr", "1e999"), 1, "--lr", "is not a number")
        for word in ("9223372036854775807", "-9223372036854775808", "+3"): self.assertEqual(cleave("run", g, "--random", "--seed", word).returncode, 0)

    def test_an_empty_value_takes_no_other_word(self):
        self.refused(cleave("frontier", self.file("m.clv", MLP), "--plot=", "--json"), 1, "--plot=", "expected a value")

    def test_wrong_ones_are_refused_in_every_mode(self):
        g = self.file("m.clv", MLP)
        for mode in ("exact", "default", "pytorch"):
            self.refused(cleave("partition", g, "--mode", mode, "--solver", "nonsense"), 1, "--solver nonsense")
            self.refused(cleave("partition", g, "--mode", mode, "--estimator", "nonsense"), 1, "--estimator nonsense")
            if mode == "pytorch": continue
            self.refused(cleave("partition", g, "--mode", mode, "--solver", "dp"), 1, "of mode pytorch alone")
        for engine in ("compiled", "reference"): self.refused(cleave("run", g, "--random", "--engine", engine, "--on", "nonsense"), 1, "--on", "nonsense")

    def test_a_budget_of_training_names_the_option_and_no_source(self):
        for word in ("nonsense", "1B", "0", "200%"):
            r = cleave("train", "--text", self.text, "--budget", word, *TINY)
            self.refused(r, 1, "--budget " + word)
            self.assertNotIn(".cpp", r.stderr)

    def test_one_way_from_a_forward_graph(self):
        """Every command takes a graph through the passes in front of gradients, or through none."""
        g = self.file("s.clv", """graph @main(%q: input f32[2,8,16] grad, %k: input f32[2,8,16] grad, %v: input f32[2,8,16] grad) {
  %t = permute(%k; dims=[0,2,1])
  %s = bmm(%q, %t)
  %d = mul(%s; other=0.25)
  %p = _softmax(%d; dim=-1, half_to_float=false)
  %o = bmm(%p, %v)
  return %o
}
""")
        seen = {}
        for passes in ("on", "off"):
            dump = self.path("dump_" + passes)
            compiled = json.loads(cleave("compile", g, "--passes", passes, "--dump", dump, "--json").stdout)
            self.assertEqual([s["name"] for s in compiled["stages"]][:4], ["autocast", "pre_grad", "verify", "joint"])
            text = contents(os.path.join(dump, "00_verify.clv")).decode()
            joint = cleave("grad", g, "--passes", passes).stdout
            halves = self.path("f.clv"), self.path("b.clv")
            self.assertEqual(cleave("partition", g, "--passes", passes, "--forward", halves[0], "--backward", halves[1]).returncode, 0)
            self.assertEqual(cleave("frontier", g, "--passes", passes, "--json").returncode, 0)
            kinds = [k["kind"] for k in json.loads(cleave("kernels", g, "--passes", passes, "--json").stdout)["kernels"]]
            trained = [k["kind"] for k in json.loads(cleave("kernels", g, "--grad", "--passes", passes, "--json").stdout)["kernels"]]
            seen[passes] = ["scaled_dot_product_attention" in t or "flash_attention" in t for t in (text, joint, contents(halves[0]).decode())]
            seen[passes] += ["attention" in kinds, "attention" in trained]
        self.assertEqual(seen, {"on": [True] * 5, "off": [False] * 5})

    def test_a_joint_graph_without_backward_is_all_forward(self):
        g = self.file("j.clv", "graph @main(%x: input f32[4], %t: tangent f32[4]) {\n  %y = sin(%x)\n  return %y\n}\n")
        for mode in ("exact", "default", "pytorch"):
            f, b = self.path(mode + "f.clv"), self.path(mode + "b.clv")
            r = cleave("partition", g, "--mode", mode, "--json", "--forward", f, "--backward", b)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual((json.loads(r.stdout)["saved"], cleave("check", f).returncode, cleave("check", b).returncode), ([], 0, 0))
        for line in (["frontier", g], ["kernels", g, "--grad"], ["run", g, "--random", "--mode", "pytorch"]): self.assertEqual(cleave(*line).returncode, 0, line)


if __name__ == "__main__":
    unittest.main()
