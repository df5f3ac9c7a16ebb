#!/usr/bin/env python3
"""cleave import, and .pt2 files where a graph is expected; the commands of doc/from_pytorch.md.

    python3 test/tool/import_test.py CLEAVE_BINARY
"""
import json, os, random, re, shutil, struct, subprocess, unittest, zipfile

from command_case import CLEAVE, Case, cleave, contents

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "../import/exported")
PAGE = os.path.join(HERE, "../../doc/from_pytorch.md")


def tensors(path):
    """Of f32 and i64, as (shape, numbers)."""
    data = contents(path)
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name == "__metadata__": continue
        begin, end = t["data_offsets"]
        letter, size = {"F32": ("f", 4), "I64": ("q", 8)}[t["dtype"]]
        out[name] = (t["dtype"], t["shape"], struct.unpack(f"<{(end - begin) // size}{letter}", data[8 + n + begin:8 + n + end]))
    return out


def safetensors(entries):
    header, data = {}, b""
    for name, (dtype, shape, values) in entries.items():
        more = struct.pack(f"<{len(values)}{'f' if dtype == 'F32' else 'q'}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Import(Case):
    def setUp(self):
        super().setUp()
        self.wanted = {m: tensors(os.path.join(MODELS, m + ".safetensors")) for m in ("tiny", "net")}
        names = {"tiny": ["x", "d_shift"], "net": ["x"]}
        self.inputs = {m: self.file(m + ".in.safetensors", safetensors({n: self.wanted[m][f"in.{k}"] for k, n in enumerate(names[m])}))
                       for m in names}

    def model(self, name): return os.path.join(MODELS, name + ".pt2")

    def assert_near(self, got, want, what):
        self.assertEqual(got[:2], want[:2], what)
        for a, b in zip(got[2], want[2]): self.assertLessEqual(abs(a - b), 1e-5 * max(1, abs(b)), what)

    def test_writes_a_graph_weights_and_a_summary(self):
        folder = self.path("new/model")
        result = cleave("import", self.model("tiny"), "-o", folder, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        out = json.loads(result.stdout)
        self.assertEqual((out["nodes"], out["unsupported"]), (12, []))
        self.assertEqual(out["arguments"], '((x, {"shift": d_shift}), {})')
        self.assertEqual(sorted(os.listdir(folder)), ["model.clv", "summary.txt", "weights.safetensors"])
        self.assertEqual(cleave("check", out["graph"]).returncode, 0)
        self.assertEqual(sorted(tensors(out["weights"])), ["a.bias", "b.bias", "b.weight", "seen"])
        self.assertIn("tied       a.weight is %b.weight", contents(out["summary"]).decode())
        self.assertEqual(cleave("import", self.model("tiny"), "-o", folder).stdout, contents(out["summary"]).decode())

    def test_runs_as_pytorch_does(self):
        places = {"tiny": (["out.1", "out.2"], {"seen": "out.0"}),
                  "net": (["out.3"], {"norm.running_mean": "out.0", "norm.running_var": "out.1", "norm.num_batches_tracked": "out.2"})}
        for m, (results, updates) in places.items():
            for engine in ([], ["--passes", "off"], ["--budget", "100%"]):
                with self.subTest(model=m, engine=engine):
                    y = self.path("y.safetensors")
                    done = cleave("run", self.model(m), "--in", self.inputs[m], "--out", y, "--grad", *engine)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    got, want = tensors(y), self.wanted[m]
                    for k, name in enumerate(results): self.assert_near(got[name], want[f"out.{k}"], name)
                    for name, place in updates.items(): self.assert_near(got[place], want["update." + name], name)
                    grads = [n for n in want if n.startswith("grad.")]
                    self.assertTrue(grads)
                    for n in grads:
                        # A tied weight has one gradient, under the name of its placeholder.
                        if n == "grad.a.weight": self.assertNotIn(n, got)
                        else: self.assert_near(got[n], want[n], n)

    def test_every_command_takes_it(self):
        m, y = self.model("tiny"), self.path("y")
        for args in (["check"], ["print"], ["show"], ["grad"], ["partition"], ["frontier"], ["kernels", "--grad"], ["lower", "--random"],
                     ["compile"], ["opt", "--pass", "drop_noop", "-o", y], ["report", "--grad", "-o", y + ".html"]):
            with self.subTest(args=args):
                done = cleave(args[0], m, *args[1:])
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(cleave("diff", m, m, "--json").returncode, 0)
        with open(m, "rb") as f:
            done = subprocess.run([CLEAVE, "check", "-", "--json"], stdin=f, capture_output=True, text=True)
        self.assertEqual((done.returncode, json.loads(done.stdout)["nodes"]), (0, 12), done.stderr)

    def test_in_replaces_weights(self):
        zeros = {"b.weight": ("F32", [3, 3], [0.0] * 9), "b.bias": ("F32", [3], [0.0] * 3)}
        given = self.file("given.safetensors", safetensors({**tensors(self.inputs["tiny"]), **zeros}))
        y = self.path("y.safetensors")
        self.assertEqual(cleave("run", self.model("tiny"), "--in", given, "--out", y).returncode, 0)
        shift = self.wanted["tiny"]["in.1"][2]
        self.assert_near(tensors(y)["out.1"], ("F32", [2, 3], [max(0.0, v) for v in shift] * 2), "y")

    def test_says_all_that_is_not_covered(self):
        path = self.changed("tiny", lambda text: text.replace(b"aten.relu.default", b"aten.nonzero.default").replace(b"aten.linear", b"my.linear"))
        done = cleave("import", path, "-o", self.path("m"), "--json")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(json.loads(done.stdout), {"nodes": 0, "unsupported": [{"op": "aten.nonzero.default", "calls": 1}, {"op": "my.linear.default", "calls": 2}]})
        self.assertIn("2 operators are not covered: aten.nonzero.default (1 call), my.linear.default (2 calls)", done.stderr)
        self.assertFalse(os.path.exists(self.path("m")))

    def changed(self, name, change):
        """The model with its program changed."""
        path = self.path("changed.pt2")
        with zipfile.ZipFile(self.model(name)) as z, zipfile.ZipFile(path, "w") as out:
            for i in z.infolist():
                data = z.read(i)
                out.writestr(i.filename, change(data) if "/models/" in i.filename else data)
        return path

    def test_mutated_archives(self):
        """Of 300: an error or a graph, never a crash, and nothing is written on an error."""
        bits = random.Random(7)
        seen = set()
        for k in range(300):
            name = ("tiny", "net")[k % 2]
            path = self.path("mutated.pt2")
            if k % 3 == 0:  # the bytes of the archive
                data = bytearray(contents(self.model(name)))
                for _ in range(bits.randint(1, 8)): data[bits.randrange(len(data))] = bits.randrange(256)
                if bits.random() < 0.3: data = data[:bits.randrange(len(data))]
                with open(path, "wb") as f: f.write(data)
            else:  # the text of a file in it, with a good CRC
                path = self.changed(name, lambda text: self.mutated(bytearray(text), bits))
            folder = self.path(f"m{k}")
            done = cleave("import", path, "-o", folder)
            seen.add(done.returncode)
            self.assertIn(done.returncode, (0, 1, 2), f"{k}: {done.stderr}")
            if done.returncode:
                self.assertTrue(done.stderr.startswith("cleave: "), done.stderr)
                self.assertFalse(os.path.exists(folder))
        self.assertLessEqual({1, 2}, seen)

    @staticmethod
    def mutated(text, bits):
        numbers = [m.span() for m in re.finditer(rb"\d+", bytes(text))]
        for _ in range(bits.randint(1, 3)):
            kind = bits.randrange(4)
            if kind == 0:
                a, b = bits.choice(numbers)
                if b <= len(text): text[a:b] = bits.choice([b"-1", b"0", b"9223372036854775807", b"3", b"99999"])
            elif kind == 1: text[bits.randrange(len(text))] = bits.randrange(256)
            elif kind == 2:
                a = bits.randrange(len(text))
                del text[a:a + bits.randint(1, 40)]
            else:
                a, b = bits.randrange(len(text)), bits.randrange(len(text))
                text[a:a] = text[b:b + bits.randint(1, 60)]
            numbers = [m.span() for m in re.finditer(rb"\d+", bytes(text))]
        return bytes(text)

    def test_the_commands_of_the_page(self):
        with open(PAGE) as f: blocks = re.findall(r"^```sh\n(.*?)^```$", f.read(), re.M | re.S)
        lines = [line for block in blocks for line in block.splitlines()]
        self.assertGreaterEqual(len(lines), 6)
        folder = self.path("page")
        os.makedirs(folder)
        shutil.copy(self.model("tiny"), os.path.join(folder, "model.pt2"))
        shutil.copy(self.inputs["tiny"], os.path.join(folder, "x.safetensors"))
        for line in lines:
            words = line.split()
            self.assertEqual(words[0], "cleave")
            done = subprocess.run([os.path.abspath(CLEAVE), *words[1:]], capture_output=True, text=True, timeout=120, cwd=folder)
            self.assertEqual(done.returncode, 0, f"{line}: {done.stderr}")

    def test_hostile_files(self):
        zeros = self.path("bomb.pt2")
        with zipfile.ZipFile(zeros, "w", zipfile.ZIP_DEFLATED) as z: z.writestr("m/archive_format", b"\0" * (64 << 20))
        self.refused(cleave("import", zeros, "-o", self.path("m")), 1, "unpack to more than 64 times")
        out = self.path("out.pt2")
        with zipfile.ZipFile(out, "w") as z: z.writestr("../../x", b"pt2")
        self.refused(cleave("run", out, "--random"), 1, "leads out by ..")
        self.refused(cleave("run", self.file("no.pt2", b"PK\3\4 something")), 1, "format")
        self.refused(cleave("import", self.model("tiny")), 1, "-o")

    def test_the_layouts_of_older_versions(self):
        for old in ("tiny26", "tiny28"):
            with self.subTest(layout=old):
                self.assertEqual(cleave("import", self.model("tiny"), "-o", self.path("new")).returncode, 0)
                done = cleave("import", self.model(old), "-o", self.path(old))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(graph(self.path("new")), graph(self.path(old)))
                self.assertEqual(weights(self.path("new")), weights(self.path(old)))


def graph(folder):
    """Placeholders in any order, and the statements without the lines of their sources."""
    head, *body = contents(os.path.join(folder, "model.clv")).decode().splitlines()
    return sorted(re.findall(r"%[^%{]+(?=, %|\))", head)), [line.split("  # ")[0] for line in body]


def weights(folder):
    """The bytes of each tensor by its name and type."""
    data = contents(os.path.join(folder, "weights.safetensors"))
    end = 8 + struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, t in json.loads(data[8:end]).items():
        if name != "__metadata__":
            begin, stop = t["data_offsets"]
            found[name] = t["dtype"], t["shape"], data[end + begin:end + stop]
    return found


if __name__ == "__main__":
    unittest.main()
