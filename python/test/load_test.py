"""Models from files, and graphs, with NumPy, PyTorch and DLPack."""
import numpy as np
import pytest
import torch

import cleave

RELU = """graph @main(%x: input f32[2,3], %out: input f32[2,3]) {
  %y = relu(%x)
  return %y -> %out
}"""


def test_a_program_writes_the_callers_memory():
    program = cleave.Program(cleave.Graph(RELU))
    x, out = np.array([[-1, 2, -3], [4, -5, 6]], np.float32), np.zeros((2, 3), np.float32)
    assert program.run([x, out]) == []
    np.testing.assert_array_equal(out, np.maximum(x, 0))
    t, into = torch.randn(3, 2).t(), torch.empty(2, 3)
    program.run([t, into])
    torch.testing.assert_close(into, t.relu())
    with pytest.raises(cleave.UserError, match=r"f32\[2,3\]\{1,2\}, expected f32\[2,3\]"):
        program.run([into, t])  # what is written isn't copied


def test_a_program_refuses_memory_that_it_reads():
    program = cleave.Program(cleave.Graph(RELU))
    x = torch.randn(2, 3)
    with pytest.raises(cleave.UserError, match="its memory is also that of"):
        program.run([x, x])
    frozen = np.zeros((2, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises((cleave.UserError, BufferError)):
        program.run([np.ones((2, 3), np.float32), frozen])


def test_errors_of_graphs():
    with pytest.raises(cleave.UserError, match="P12") as caught:
        cleave.Graph("graph @main(%x: input f32[2]) {\n  return %y\n}")
    assert caught.value.kind == "user" and isinstance(caught.value, (cleave.Error, ValueError))
    with pytest.raises(TypeError, match="no tensor"):
        cleave.Program(cleave.Graph(RELU)).run(["a", "b"])


def test_tensors_of_cleave():
    base = np.arange(6, dtype=np.int64).reshape(2, 3)
    t = cleave.Tensor(base)
    assert (t.shape, t.strides, t.dtype) == ((2, 3), (3, 1), "i64")
    base[0, 0] = 9
    assert np.from_dlpack(t)[0, 0] == 9 and torch.from_dlpack(t)[0, 0] == 9  # the same memory
    assert cleave.Tensor(torch.ones(2, dtype=torch.bfloat16)).type == "bf16[2]"


def test_a_clv_file(tmp_path):
    (tmp_path / "f.clv").write_text("graph @main(%n: symint, %x: input f32[n,2], %y: input f32[n,2]) {\n"
                                    "  %z = mul(%x, %y)\n  return %z\n}")
    f = cleave.load(tmp_path / "f.clv")
    for rows in (1, 4):
        x = np.random.rand(rows, 2).astype(np.float32)
        z = f(x, y=x)
        assert isinstance(z, np.ndarray)
        np.testing.assert_allclose(z, x * x)
    with pytest.raises(cleave.UserError, match="y are missing"):
        f(x)
    with pytest.raises(cleave.UserError, match="no input w"):
        f(x, w=x)
    with pytest.raises(cleave.UserError, match="expected .pt2, .onnx or .clv"):
        cleave.load("model.bin")


def test_a_pt2_file(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    x = torch.randn(2, 4)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    f = cleave.load(tmp_path / "m.pt2")
    y = f(x)
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y, model(x).detach())
    np.testing.assert_allclose(f(x.numpy()), model(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_export_and_load(tmp_path):
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten(), torch.nn.Linear(72, 4))
    model.eval()
    x = torch.randn(2, 1, 8, 8)
    graph = cleave.export(model, (x,), tmp_path / "m.clv")
    assert "%0.weight: param f32[2,1,3,3] grad" in graph.text
    torch.testing.assert_close(cleave.load(tmp_path / "m.clv")(x), model(x).detach(), rtol=1e-4, atol=1e-5)
    rows = torch.export.Dim("rows", min=2, max=64)
    cleave.export(torch.nn.Linear(4, 3), (torch.randn(5, 4),), tmp_path / "d.clv", dynamic_shapes=[{0: rows}])
    assert cleave.load(tmp_path / "d.clv")(np.ones((7, 4), np.float32)).shape == (7, 3)
    with pytest.raises(cleave.Unsupported, match="special_zeta"):
        cleave.export(lambda x: torch.special.zeta(x, x), (torch.ones(2),))
