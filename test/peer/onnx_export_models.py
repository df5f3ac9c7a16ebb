#!/usr/bin/env python3
"""The examples' models, exported by PyTorch, written as ONNX by the command, run by onnxruntime beside PyTorch.

    onnx_export_models.py CLEAVE [MODEL ...]

Sizes of batches (and of time) stay open: each model is run at two of them. Also: each operator set, a model whose
tensors lie beside it, and a model of ONNX that is read and written again. Skipped (77) without torch, onnx, onnxruntime.
"""
import os, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
try:
    import numpy as np, onnx, onnxruntime, torch
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import example_models as E
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
onnxruntime.set_default_logger_severity(4)
CLEAVE = sys.argv[1]
Dim = torch.export.Dim


def images(n, size=32): return torch.randn(n, 3, size, size)
def words(n, t): return torch.randint(0, E.VOCABULARY, (n, t))


class Words(torch.nn.Module):
    """The logits of a language model."""
    def __init__(self, model, logits):
        super().__init__()
        self.model, self.logits = model, logits

    def forward(self, idx): return self.logits(self.model, idx)


def of_gpt(m, idx): return m.logits(idx)
def of_lstm(m, idx): return m.head(m.lstm(m.embed(idx))[0])


BATCH, BATCH_AND_TIME = {0: Dim("batch", max=64)}, {0: Dim("batch", max=64), 1: Dim("time", max=64)}
# name: model, inputs of two sizes, which of them stay open
MODELS = {
    "gpt": (lambda: Words(E.gpt()[0], of_gpt), [words(3, 20), words(1, 64)], BATCH_AND_TIME),
    "vit": (lambda: E.vit()[0], [images(3), images(3)], None),
    "resnet18": (lambda: E.resnet18()[0], [images(3), images(2)], BATCH),
    "unet": (lambda: E.unet()[0], [images(2), images(2)], None),
    "soft_moe": (lambda: E.soft_moe()[0], [images(3), images(2)], BATCH),
    "lstm": (lambda: Words(E.lstm()[0], of_lstm), [words(3, 12), words(3, 12)], None),
}


def cleave(*words):
    r = subprocess.run([CLEAVE, *words], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"cleave {' '.join(words)}: {r.stderr}")
    return r.stdout


def difference(path, x, want):
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    got = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    want = want.numpy()
    if got.shape != want.shape:
        return float("inf")
    worst = np.abs(got - want).max() / max(1, np.abs(want).max())
    return float(worst) if np.isfinite(worst) else float("inf")


def check(name, folder):
    make, inputs, sizes = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    for p in model.parameters():
        if not p.any():  # made by the examples, zeros here
            torch.nn.init.normal_(p, 0, 0.1)
    for key, b in model.named_buffers():
        if key.endswith("running_mean"):
            b.normal_(0, 0.1)
        elif key.endswith("running_var"):
            b.uniform_(0.5, 1.5)
    path = os.path.join(folder, name)
    program = torch.export.export(model, (inputs[0],), dynamic_shapes=(sizes,) if sizes else None)
    torch.export.save(program, path + ".pt2")
    cleave("export", path + ".pt2", "--onnx", path + ".onnx")
    nodes = len(onnx.load(path + ".onnx").graph.node)
    with torch.no_grad():
        worst = max(difference(path + ".onnx", x, model(x)) for x in inputs)
        for opset in (18, 20, 23):
            cleave("export", path + ".pt2", "--onnx", path + ".o.onnx", "--opset", str(opset))
            worst = max(worst, difference(path + ".o.onnx", inputs[0], model(inputs[0])))
        cleave("export", path + ".onnx", "--onnx", path + ".again.onnx")
        worst = max(worst, difference(path + ".again.onnx", inputs[0], model(inputs[0])))
        moved = path + ".beside.onnx"
        onnx.save(onnx.load(path + ".onnx"), moved, save_as_external_data=True, location=name + ".weights", size_threshold=0)
        cleave("export", moved, "--onnx", path + ".again.onnx")
        worst = max(worst, difference(path + ".again.onnx", inputs[0], model(inputs[0])))
    print(f"{name:10} {nodes:5} nodes, farthest {worst:.1e}")
    return worst < 1e-5


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or MODELS:
            try:
                wrong += not check(name, folder)
            except Exception as e:
                print(f"{name}: {type(e).__name__}: {str(e)[:1500]}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
