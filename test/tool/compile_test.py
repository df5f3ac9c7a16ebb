#!/usr/bin/env python3
"""cleave compile and kernels, and the targets of all commands.

    python3 test/tool/compile_test.py CLEAVE_BINARY
"""
import hashlib, json, os, unittest

from command_case import CHAIN, FOREIGN, MLP, TARGETS, TINY, Case, architecture, cleave, contents

DYNAMIC = """graph @main(%s0: symint range(2,64) hint(8), %x: input f32[s0,4]) {
  %y = relu(%x)
  %z = add(%y, %x)
  return %z
}
"""
TWICE = MLP.replace("  return %z", "  %u = relu(%y)\n  return %z, %u")

ONE_RESULT = """graph @main(%x: input f32[70,700] grad, %w: input f32[700,129] grad, %q: input f32[2,3,70,16] grad, %k: input f32[2,3,250,16] grad, %v: input f32[2,3,250,16] grad, %i: input f32[2,5,17,19] grad, %f: input f32[7,5,3,3] grad) {
  %y = mm(%x, %w)
  %g = gelu(%y)
  %a = scaled_dot_product_attention(%q, %k, %v)
  %c = convolution(%i, %f; stride=[1,1], padding=[1,1], dilation=[1,1], transposed=false, output_padding=[0,0], groups=1)
  return %g, %a, %c
}
"""


class Compile(Case):
    def stages(self, *args):
        r = cleave("compile", *args, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertLessEqual({"stages", "compile_ms"}, set(report))
        for s in report["stages"]: self.assertEqual(set(s), {"name", "ms", "nodes", "edits", "inferred", "grown_bytes"})
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
            loops = [os.path.join(d, f) for f in files if f.endswith(".loops")]
            self.assertEqual([f.split("_")[-1] for f in loops], ["lower.loops", "schedule.loops"])
            for f in loops:
                r = cleave("check", f, "--json")
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(json.loads(r.stdout)["kernels"], contents(f).count(b"kernel %"))

    def test_kernels_are_refused_by_place(self):
        f = self.file("k.loops", "kernel %y(%y: f32[4] write) {\n  %y[i] = 1.0\n}\n")
        self.refused(cleave("check", f), 1, "k.loops:2:6: L2", "'i' is not known")

    def test_passes_are_chosen(self):
        g = self.file("m.clv", TWICE)
        def nodes(*args): return {s["name"]: s["nodes"] for s in self.stages(g, "--cache", "off", *args)["stages"]}["decomposed"]
        self.assertEqual(nodes("--passes", "off"), nodes() + 1)
        self.assertEqual(nodes("--off", "merge_equal"), nodes() + 1)
        self.refused(cleave("compile", g, "--passes", "some"), 1, "--passes some", "on or off")
        self.refused(cleave("compile", g, "--off", "no_such"), 1, "no_such")

    def test_the_report_is_json(self):
        report = self.stages(self.file("m.clv", TWICE), "--cache", "off")
        by_name = {s["name"]: s for s in report["stages"]}
        self.assertEqual((by_name["verify"]["edits"], by_name["verify"]["inferred"]), (0, 0))
        self.assertGreater(by_name["decomposed"]["edits"], 0)
        self.assertGreaterEqual(report["counters"]["passes"], 1)
        self.assertEqual((report["direction"], report["warnings"]), ("inference", []))
        self.assertGreater(report["moved_bytes"], 0)
        joint = self.stages(self.file("j.clv", cleave("grad", "-", stdin=TWICE).stdout))
        self.assertEqual(joint["direction"], "training")

    def test_passes_are_listed_with_matches(self):
        g = self.file("m.clv", TWICE)
        passes = {p["name"]: p["matches"] for p in self.stages(g, "--cache", "off")["passes"]}
        listed = cleave("opt", "--list").stdout
        for name in passes: self.assertIn(name, listed)
        self.assertEqual((passes["merge_equal"], passes["fold_permute"]), (1, 0))  # relu(%y) stands twice
        self.assertNotIn("merge_equal", [p["name"] for p in self.stages(g, "--cache", "off", "--off", "merge_equal")["passes"]])

    def test_passes_take_settings(self):
        calls = "".join(f"  %y{k} = tanh(%x{k})\n  %z{k} = mul(%y{k}; other={k}.5)\n" for k in range(3))
        g = self.file("b.clv", "graph @main(%x0: input f32[2], %x1: input f32[2], %x2: input f32[2]) {\n" + calls + "  return %z0, %z1, %z2\n}\n")
        def matches(on): return {p["name"]: p["matches"] for p in self.stages(g, "--cache", "off", "--on", on)["passes"]}["batch_activation"]
        self.assertEqual((matches("batch_activation"), matches("batch_activation:min_fuse_set_size:3")), (0, 1))
        self.refused(cleave("compile", g, "--on", "batch_activation:size:3"), 1, "has no setting 'size'; it has min_fuse_set_size")
        self.refused(cleave("compile", g, "--off", "batch_activation:min_fuse_set_size:3"), 1, "a pass without settings")

    def test_bf16_without_the_instruction_warns(self):
        args = (self.file("m.clv", MLP), "--autocast", "bf16", "--json", "--options")
        r = cleave("compile", *args, "target=x86-64-v3 compiler=none")
        self.assertEqual([w["code"] for w in json.loads(r.stdout)["warnings"]], ["bf16_emulated"])
        self.assertIn("cleave: warning: the target x86-64-v3 has no AVX512_BF16", r.stderr)
        r = cleave("compile", *args, "target=x86-64-v4-bf16 compiler=none")
        self.assertEqual((json.loads(r.stdout)["warnings"], r.stderr), ([], ""))

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


class Cached(Case):
    """Code that is kept from one run of the command to the next."""

    def compiled(self, *args, **kw):
        r = cleave("compile", self.file("m.clv", MLP), "--json", *args, **kw)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout)

    def test_the_second_run_compiles_nothing(self):
        at = ("--cache", self.path("c"))
        first, second = self.compiled(*at), self.compiled(*at)
        self.assertEqual((first["cache"], second["cache"]), ("miss", "hit"))
        self.assertEqual((second["reason"], second["cache_dir"]), ("", self.path("c")))
        self.assertEqual(self.compiled(*at, "--target", TARGETS[0])["cache"], "miss")
        stats = json.loads(cleave("cache", "stats", *at, "--json").stdout)
        self.assertGreaterEqual(stats["hits"], 1)
        self.assertGreaterEqual(stats["entries"], 2)

    def test_without_a_cache(self):
        off = self.compiled("--cache", "off")
        self.assertEqual((off["cache"], off["reason"], off["cache_dir"]), ("bypass", "off", ""))
        unusable = self.compiled("--cache", self.file("file", "x"))
        self.assertEqual(unusable["cache"], "bypass")
        self.assertIn(self.path("file"), unusable["reason"])

    def test_the_usual_folder_and_a_fresh_one(self):
        env = {**os.environ, "XDG_CACHE_HOME": self.path("home")}
        os.mkdir(self.path("home"), 0o700)
        self.assertEqual([self.compiled(env=env)["cache"] for _ in range(2)], ["miss", "hit"])
        fresh = [self.compiled("--cache", "fresh", env=env) for _ in range(2)]
        self.assertEqual([r["cache"] for r in fresh], ["miss", "miss"])
        self.assertNotEqual(fresh[0]["cache_dir"], fresh[1]["cache_dir"])
        for r in fresh: self.assertTrue(r["cache_dir"].startswith(self.path("home/cleave/fresh-")))
        nowhere = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        self.assertEqual(self.compiled(env=nowhere)["cache"], "bypass")

    def test_results_are_those_of_compiled_code(self):
        g = self.file("m.clv", MLP)
        for name in ("a", "b"):
            r = cleave("run", g, "--random", "--cache", self.path("c"), "--out", self.path(name))
            self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(contents(self.path("a")), contents(self.path("b")))


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


class Targets(Case):
    """A program may be planned and compiled for any target, and runs where this machine has it."""


    def test_each_runs_or_is_unsupported_here(self):
        graph = self.file("chain.clv", CHAIN)
        ran = []
        for target in ("native", *TARGETS):
            r = cleave("run", graph, "--random", "--seed", 3, "--grad", "--json", "--target", target)
            if r.returncode == 2:
                self.assertIn("this machine has no more than", r.stderr)
                continue
            self.assertEqual(r.returncode, 0, r.stderr)
            report = json.loads(r.stdout)
            self.assertEqual(report["target"], target)
            self.assertEqual(report["peak_bytes"], report["planned_peak_bytes"])
            ran.append(target)
        self.assertEqual(ran, ["native", *TARGETS][:len(ran)])
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
            for target in TARGETS:
                r = cleave("run", graph, "--random", "--seed", 7, "--grad", "--out", out, "--compiler", compiler, "--target", target)
                if r.returncode == 2: continue
                self.assertEqual(r.returncode, 0, r.stderr)
                want = want or contents(out)
                self.assertEqual(contents(out), want, f"{compiler} {target}")

    def test_fused_multiply_add_gives_one_result(self):
        """On both architectures: the digest is that of AVX2, AVX-512 and Advanced SIMD."""
        graph, out = self.file("one.clv", ONE_RESULT), self.path("out.safetensors")
        for target in TARGETS:
            if target == "x86-64-v2": continue
            r = cleave("run", graph, "--random", "--seed", 3, "--grad", "--out", out, "--target", target)
            if r.returncode == 2: continue
            self.assertEqual(r.returncode, 0, r.stderr)
            digest = hashlib.sha256(contents(out)).hexdigest()
            self.assertEqual(digest, "e95c8930193042fac078304d84024636776278f9d847458caab85d55408ba4cc", target)

    def test_what_only_plans_takes_any(self):
        graph = self.file("chain.clv", CHAIN)
        for target in ("native", *TARGETS, *FOREIGN):
            for command in ("partition", "frontier", "kernels", "compile"):
                options = ("--target", target)
                if command == "compile" and target in FOREIGN: options = ("--options", f"target={target} compiler=none")
                r = cleave(command, graph, "--json", *options)
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(json.loads(r.stdout)["target"], target)

    def test_what_is_refused(self):
        graph = self.file("chain.clv", CHAIN)
        train = ("train", "--text", self.text, *TINY)
        for command in (("run", graph, "--random"), ("compile", graph), train):
            self.refused(cleave(*command, "--target", FOREIGN[0]), 2, f"target {FOREIGN[0]}: ", architecture(TARGETS[0]))
        for command in (("run", graph, "--random"), ("compile", graph), ("partition", graph), ("frontier", graph), ("kernels", graph), train):
            self.refused(cleave(*command, "--target", "x86-64-v9"), 1, "x86-64-v9", "native, x86-64-v2")


if __name__ == "__main__":
    unittest.main()
