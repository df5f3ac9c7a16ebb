"""The Python of doc/from_pytorch.md runs, block after block, as it stands there."""
import re
from pathlib import Path

import torch

import cleave

PAGE = Path(__file__).resolve().parents[2] / "doc/from_pytorch.md"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def test_the_pages_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 6
    model = Model()
    names = {"torch": torch, "cleave": cleave, "model": model, "x": torch.randn(3, 4), "y": torch.randn(3, 2)}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
        names["model"] = model  # the compiled one shares its parameters
        if "losses" not in names and "g" in names:  # before the step trains it
            torch.testing.assert_close(names["g"](names["x"]), model(names["x"]).detach())
            torch.testing.assert_close(names["y"], model(names["x"]).detach())
    assert model.a.weight.grad is not None
    assert names["dw"].shape == (4, 2) and "tanh" in str(names["tuned"])
    assert names["losses"][-1] < names["losses"][0]
