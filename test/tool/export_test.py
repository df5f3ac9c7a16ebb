"""`cleave export GRAPH --onnx M.onnx`: what it writes is read back by the other commands."""
from command_case import *

DRAWS = """graph @main(%x: input f32[2], %r: rng_state i64[2]) {
  %a = rand(%r; size=[2], stream=1)
  %y = add(%x, %a)
  return %y
}
"""


def safetensors(tensors):
    header, data = {}, b""
    for name, (dims, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Export(Case):
    def weights(self, **more):
        return self.file("w.safetensors", safetensors({"w": ([3, 4], [1.0] * 12), "b": ([3], [0.0, 1.0, -9.0]), **more}))

    def test_weights_become_initializers(self):
        m = self.path("m.onnx")
        r = cleave("export", self.file("g.clv", MLP), "--weights", self.weights(), "--onnx", m)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("operator set 21, ", r.stdout)
        self.assertIn("input      x\noutput     z\n", r.stdout)
        out = self.path("out.safetensors")
        x = self.file("x.safetensors", safetensors({"x": ([2, 4], [1.0] * 4 + [0.0] * 4)}))
        r = cleave("run", m, "--in", x, "--out", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(struct.unpack("<6f", contents(out)[-24:]), (4, 5, 0, 0, 1, 0))

    def test_without_weights_all_are_inputs(self):
        r = cleave("export", self.file("g.clv", MLP), "--onnx", self.path("m.onnx"), "--opset", "18", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        told = json.loads(r.stdout)
        self.assertEqual(told["inputs"], ["w", "b", "x"])
        self.assertEqual((told["outputs"], told["opset"], told["initializers"]), (["z"], 18, 0))

    def test_a_model_of_onnx_is_written_again(self):
        g, m, n = self.file("g.clv", MLP), self.path("m.onnx"), self.path("n.onnx")
        self.assertEqual(cleave("export", g, "--weights", self.weights(), "--onnx", m).returncode, 0)
        r = cleave("export", m, "--onnx", n, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(json.loads(r.stdout)["inputs"], ["x"])

    def test_tensors_that_the_graph_lacks_are_told(self):
        r = cleave("export", self.file("g.clv", MLP), "--weights", self.weights(adam=([1], [0.0])), "--onnx", self.path("m.onnx"))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("unread     adam\n", r.stdout)
        other = self.file("o.safetensors", safetensors({"q": ([1], [0.0])}))
        r = cleave("export", self.file("g.clv", MLP), "--weights", other, "--onnx", self.path("m.onnx"))
        self.refused(r, 1, "no tensor has the name of a placeholder")

    def test_what_onnx_lacks_is_named(self):
        r = cleave("export", self.file("g.clv", DRAWS), "--onnx", self.path("m.onnx"), "--json")
        self.assertEqual(r.returncode, 2)
        self.assertEqual(json.loads(r.stdout)["unsupported"], [{"op": "rand", "calls": 1, "why": "draws random numbers"}])
        self.assertIn("1 x rand: draws random numbers", r.stderr)
        self.assertFalse(os.path.exists(self.path("m.onnx")))

    def test_options(self):
        g = self.file("g.clv", MLP)
        self.refused(cleave("export", g), 1, "--onnx: expected the name of a file")
        self.refused(cleave("export", g, "--onnx", self.path("m.onnx"), "--opset", "12"), 1, "the operator set is 12, expected 18 to 23")
        self.refused(cleave("export", g, "--onnx", self.path("no/m.onnx")), 1, "no/m.onnx")


if __name__ == "__main__":
    unittest.main()
