"""Resizes are calls of cleave's operators, though PyTorch takes them apart where it traces gradients."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cleave.fx.kept_whole import KEYS, kept_whole

MODES = [dict(mode="nearest"), dict(mode="bilinear"), dict(mode="bilinear", align_corners=True)]


class Net(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.first, self.how = nn.Conv2d(3, 8, 3), how

    def forward(self, x):
        return F.interpolate(self.first(x), scale_factor=2, **self.how).square() + F.interpolate(self.first(x), (12, 12), **self.how)


@pytest.mark.usefixtures("no_outside")
@pytest.mark.parametrize("how", MODES)
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_gradients_of_resizes_are_calls(tmp_path, how, order):
    torch.manual_seed(0)
    model, x = Net(how), torch.randn(2, 3, 8, 8).to(memory_format=order)
    want = model(x)
    wanted = torch.autograd.grad(want.square().sum(), list(model.parameters()))
    got = torch.compile(model, backend="cleave", options={"dump_dir": str(tmp_path)})(x)
    torch.testing.assert_close(got, want)
    for a, b in zip(torch.autograd.grad(got.square().sum(), list(model.parameters())), wanted):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    graphs = "".join(p.read_text() for p in tmp_path.glob("*/00_*.clv"))
    assert f"upsample_{how['mode']}2d(" in graphs and f"upsample_{how['mode']}2d_backward(" in graphs
    assert "index_put(" not in graphs


def test_rules_of_pytorch_are_there_again():
    op = torch.ops.aten.upsample_bilinear2d.vec
    rules = dict(op.py_kernels)
    assert set(KEYS) <= set(rules)
    with kept_whole():
        assert not set(KEYS) & set(op.py_kernels)
        with kept_whole():
            assert not set(KEYS) & set(op.py_kernels)
        assert not set(KEYS) & set(op.py_kernels)
    assert op.py_kernels == rules
    with pytest.raises(ZeroDivisionError), kept_whole():
        raise ZeroDivisionError
    assert op.py_kernels == rules
