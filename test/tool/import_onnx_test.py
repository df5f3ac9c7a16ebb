"""`cleave import MODEL.onnx`, and commands that take an .onnx where they take a .clv."""
import struct

from command_case import *


def varint(v):
    out = b""
    while v >= 0x80:
        out, v = out + bytes([v & 0x7F | 0x80]), v >> 7
    return out + bytes([v])


def num(field, v): return varint(field << 3) + varint(v & (1 << 64) - 1)
def sub(field, b): return varint(field << 3 | 2) + varint(len(b)) + b
def txt(field, s): return sub(field, s.encode())
def value(name, dims): return txt(1, name) + sub(2, sub(1, num(1, 1) + sub(2, b"".join(sub(1, num(1, d)) for d in dims))))
def node(op, inputs, outputs): return b"".join(txt(1, i) for i in inputs) + b"".join(txt(2, o) for o in outputs) + txt(4, op)
def weight(name, dims, v): return b"".join(num(1, d) for d in dims) + num(2, 1) + txt(8, name) + sub(9, struct.pack(f"<{len(v)}f", *v))


def model(nodes):
    graph = b"".join(sub(1, n) for n in nodes) + sub(5, weight("w", [2, 2], [1, 2, 3, 4])) + sub(11, value("x", [1, 2])) + sub(12, txt(1, "y"))
    return num(1, 10) + sub(7, graph) + sub(8, txt(1, "") + num(2, 21))


SQUARE = [node("MatMul", ["x", "w"], ["h"]), node("Mul", ["h", "h"], ["y"])]


class ImportOnnx(Case):
    def given(self, **tensors):
        header, data = {}, b""
        for name, (dims, values) in tensors.items():
            header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [len(data), len(data) + 4 * len(values)]}
            data += struct.pack(f"<{len(values)}f", *values)
        text = json.dumps(header).encode()
        return self.file("in.safetensors", struct.pack("<Q", len(text)) + text + data)

    def tensors(self, path):
        raw = contents(path)
        n = struct.unpack("<Q", raw[:8])[0]
        out = {}
        for name, t in json.loads(raw[8:8 + n]).items():
            if name != "__metadata__":
                b, e = t["data_offsets"]
                out[name] = list(struct.unpack(f"<{(e - b) // 4}f", raw[8 + n + b:8 + n + e]))
        return out

    def test_import_writes_a_graph_and_its_weights(self):
        m, out = self.file("m.onnx", model(SQUARE)), self.path("m")
        r = cleave("import", m, "-o", out, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(json.loads(r.stdout)["nodes"], 2)
        self.assertEqual(self.tensors(os.path.join(out, "weights.safetensors")), {"w": [1, 2, 3, 4]})
        r = cleave("check", os.path.join(out, "model.clv"))
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_training_of_a_forward_graph(self):
        """y = (x w)^2, x = [1, 1]: h = [4, 6], dw = 2 h of each column."""
        m, out = self.file("m.onnx", model(SQUARE)), self.path("out.safetensors")
        r = cleave("run", m, "--in", self.given(x=([1, 2], [1, 1])), "--grad", "--out", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.tensors(out), {"out.0": [16, 36], "grad.w": [8, 12, 8, 12]})

    def test_what_is_not_covered_is_named(self):
        m = self.file("m.onnx", model([node("NonZero", ["x"], ["a"]), node("Strange", ["x"], ["y"])]))
        r = cleave("import", m, "-o", self.path("m"), "--json")
        self.assertEqual(r.returncode, 2)
        self.assertEqual(json.loads(r.stdout)["unsupported"],
                         [{"op": "NonZero", "calls": 1, "why": "no rule for it"},
                          {"op": "Strange", "calls": 1, "why": "no rule for it"}])
        self.assertIn("2 kinds of calls aren't covered", r.stderr)

    def test_a_damaged_file_is_an_error_with_its_byte(self):
        m = self.file("m.onnx", model(SQUARE)[:40])
        r = cleave("run", m, "--random")
        self.refused(r, 1, "byte 2: field 7 has")

    def test_other_files_and_shapes_are_errors(self):
        r = cleave("import", self.file("m.txt", b"x"), "-o", self.path("m"))
        self.assertEqual(r.returncode, 1)
        r = cleave("import", self.file("m.onnx", model(SQUARE)), "-o", self.path("m"), "--shape", "x=1xz")
        self.assertEqual(r.returncode, 1)
        self.assertIn("--shape x=1xz: expected NAME=SIZES", r.stderr)


if __name__ == "__main__":
    unittest.main()
