"""Models with experts: products of groups that the router makes, beside eager PyTorch."""
import copy

import pytest
import torch

import cleave


class Experts(torch.nn.Module):
    """Each token goes to two of four experts, as Mixtral's of transformers do."""

    def __init__(self, count=4, width=16, inner=24):
        super().__init__()
        self.count, self.router = count, torch.nn.Linear(width, count, bias=False)
        self.up = torch.nn.Parameter(torch.randn(count, inner, width) / 4)
        self.down = torch.nn.Parameter(torch.randn(count, width, inner) / 4)

    def forward(self, x):
        weights, experts = self.router(x).float().softmax(-1).topk(2)
        sorted_experts, order = experts.reshape(-1).sort()
        counts = torch.histc(sorted_experts.float(), bins=self.count, min=0, max=self.count - 1)
        ends = counts.cumsum(0, dtype=torch.int32)
        h = torch._grouped_mm(x[order // 2], self.up.transpose(-2, -1), offs=ends)
        y = torch._grouped_mm(torch.nn.functional.silu(h), self.down.transpose(-2, -1), offs=ends)
        y = y * weights.reshape(-1)[order].unsqueeze(-1).to(y.dtype)
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel())
        return y[back].view(-1, 2, x.shape[-1]).sum(1).square().mean()


@pytest.mark.usefixtures("no_outside")
def test_groups_of_the_router():
    torch.manual_seed(3)
    model, x = Experts().bfloat16(), torch.randn(40, 16).bfloat16()
    eager = copy.deepcopy(model)
    compiled = torch.compile(model, backend="cleave")
    for _ in range(2):
        loss, want = compiled(x), eager(x)
        loss.backward()
        want.backward()
        torch.testing.assert_close(loss, want, rtol=2e-2, atol=1e-3)
    for (name, p), q in zip(model.named_parameters(), eager.parameters()):
        torch.testing.assert_close(p.grad, q.grad, rtol=5e-2, atol=3e-2 * q.grad.abs().max().item(), msg=lambda m, n=name: f"{n}: {m}")


def mixtral():
    transformers = pytest.importorskip("transformers")
    if not hasattr(transformers, "MixtralForCausalLM") or int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("transformers 5 has experts as groups")
    torch.manual_seed(0)
    config = transformers.MixtralConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=64, experts_implementation="grouped_mm")
    return transformers.MixtralForCausalLM(config), torch.randint(0, 64, (2, 16))


def loss_of(model, ids):
    return model(input_ids=ids, labels=ids, use_cache=False).loss


def losses(model, ids, f, steps=4):
    optimizer, out = torch.optim.AdamW(model.parameters(), lr=1e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = f(ids)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@pytest.mark.usefixtures("no_outside")
def test_mixtral():
    model, ids = mixtral()
    eager, stepped = copy.deepcopy(model), copy.deepcopy(model)
    want = losses(eager, ids, lambda ids: loss_of(eager, ids))
    compiled = torch.compile(model, backend="cleave")
    assert losses(model, ids, lambda ids: loss_of(compiled, ids)) == pytest.approx(want, abs=1e-5)
    step = cleave.Step(stepped, torch.optim.AdamW(stepped.parameters(), lr=1e-2), (ids,), loss=loss_of)
    assert [step(ids) for _ in range(4)] == pytest.approx(want, abs=1e-5)
