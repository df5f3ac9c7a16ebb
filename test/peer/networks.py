"""Random networks for a partitioner: layers, attention, convolutions, far readers, chains, random calls, integers.

    f, inputs, parameters, sizes = network(17)

f is a function of the inputs, of which the first `parameters` are parameters; `sizes`: whether the sizes of the rest
vary. 17 always gives the same.
"""
import random
from aten import torch

F = torch.nn.functional
UNARY = [torch.relu, F.gelu, F.silu, torch.tanh, torch.sigmoid, torch.cos, torch.sin, lambda x: (-x * x).exp(), F.softplus,
         lambda x: F.elu(x) + 1, lambda x: x.abs().sqrt(), lambda x: x * 0.5, lambda x: F.leaky_relu(x, 0.1), torch.erf,
         lambda x: x.clamp(-1, 1), lambda x: (x * x + 1).log(), lambda x: x.pow(3), F.hardsigmoid, F.hardtanh,
         lambda x: 1 / (1 + x * x), lambda x: (x * x + 1).rsqrt(), lambda x: x.clone(), lambda x: x.contiguous() * 1.0]
BINARY = [torch.add, torch.mul, torch.sub, torch.maximum, lambda a, b: torch.where(a > b, a, b * 0.5),
          lambda a, b: a / (b.abs() + 1), lambda a, b: a + 2 * b, lambda a, b: torch.where(b.isnan(), a, b)]


class Network:
    """Draws its inputs and what it does with them once; then run(*inputs) does it."""
    def __init__(self, seed, random_calls, varies):
        self.rng, self.random_calls, self.varies = random.Random(seed), random_calls, varies
        self.generator = torch.Generator().manual_seed(seed)
        self.rows, self.width = self.rng.choice([4, 6, 8]), self.rng.choice([8, 16])
        self.params, self.data, self.steps = [], [self.normal(self.rows, self.width)], []
        kinds = [self.unary] * 5 + [self.binary] * 4 + [self.linear] * 4 + [self.norm, self.softmax, self.reduction, self.scan,
                 self.views, self.attention, self.convolution, self.sdpa, self.slices, self.integers, self.casts, self.constant,
                 self.statistics, self.products, self.chain]
        if random_calls:
            kinds += [self.dropout] * 3 + [self.noise]
        for _ in range(self.rng.randint(4, 18)):
            self.rng.choice(kinds)()
        self.results = [self.rng.random() < 0.15 for _ in self.steps]
        self.loss = self.rng.random() < 0.6

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.generator)

    def param(self, *shape):
        self.params.append(self.normal(*shape) / 2)
        return len(self.params) - 1

    def pick(self):
        """Where an earlier value is: most are the last ones."""
        n = len(self.steps)
        return n - min(n, int(self.rng.expovariate(0.6))) if self.rng.random() < 0.8 else self.rng.randint(0, n)

    def step(self, f):
        """f(values, parameters, sizes) -> [rows, width], one more value."""
        self.steps.append(f)

    def unary(self):
        f, a = self.rng.choice(UNARY), self.pick()
        self.step(lambda v, p: f(v[a]))

    def chain(self):
        fs, a = [self.rng.choice(UNARY[:8]) for _ in range(self.rng.choice([3, 6, 12, 12, 60, 120]))], self.pick()
        def run(v, p):
            x = v[a]
            for f in fs:
                x = f(x)
            return x
        self.step(run)

    def binary(self):
        f, a, b = self.rng.choice(BINARY), self.pick(), self.pick()
        self.step(lambda v, p: f(v[a], v[b]))

    def linear(self):
        a, w, inner = self.pick(), None, self.rng.choice([0, 0, 2 * self.width, 4])
        bias = self.param(self.width) if self.rng.random() < 0.5 else None
        if inner:
            w, u, f = self.param(self.width, inner), self.param(inner, self.width), self.rng.choice(UNARY[:6])
            run = lambda v, p: f(v[a] @ p[w]) @ p[u]
        else:
            w = self.param(self.width, self.width)
            run = lambda v, p: v[a] @ p[w]
        self.step(run if bias is None else lambda v, p: run(v, p) + p[bias])

    def norm(self):
        a, w, b, kind = self.pick(), self.param(self.width), self.param(self.width), self.rng.randint(0, 3)
        if kind == 0:
            self.step(lambda v, p: F.layer_norm(v[a], (self.width,), p[w], p[b]))
        elif kind == 1:
            self.step(lambda v, p: v[a] * (v[a].pow(2).mean(1, keepdim=True) + 1e-5).rsqrt() * p[w])
        elif kind == 2:
            self.step(lambda v, p: F.batch_norm(v[a], None, None, p[w], p[b], training=True))
        else:
            self.step(lambda v, p: F.group_norm(v[a], 2, p[w], p[b]))

    def softmax(self):
        a, f, d = self.pick(), self.rng.choice([torch.softmax, torch.log_softmax]), self.rng.randint(0, 1)
        self.step(lambda v, p: f(v[a], d))

    def reduction(self):
        a, b, d = self.pick(), self.pick(), self.rng.randint(0, 1)
        f = self.rng.choice([torch.sum, torch.mean, torch.amax, torch.var, torch.logsumexp])
        self.step(lambda v, p: v[b] * f(v[a], dim=d, keepdim=True))

    def statistics(self):
        a, b = self.pick(), self.pick()
        def run(v, p):
            return (v[b] - v[a].mean(0, keepdim=True)) / (v[a].var(0, keepdim=True) + 1).sqrt()
        self.step(run)

    def scan(self):
        a, kind = self.pick(), self.rng.randint(0, 3)
        if kind == 0:
            self.step(lambda v, p: v[a].cumsum(1))
        elif kind == 1:
            self.step(lambda v, p: torch.sort(v[a], 1)[0])
        elif kind == 2:
            self.step(lambda v, p: v[a] * torch.max(v[a], 1, keepdim=True)[0])
        else:
            self.step(lambda v, p: v[a].gather(1, v[a].argsort(1)))

    def views(self):
        a, kind, w = self.pick(), self.rng.randint(0, 4), self.param(self.width, self.width)
        if kind == 0:
            self.step(lambda v, p: (p[w] @ v[a].t()).t())
        elif kind == 1:
            self.step(lambda v, p: (v[a].view(v[a].shape[0], 2, -1).transpose(1, 2).reshape(v[a].shape[0], -1) @ p[w]))
        elif kind == 2:
            self.step(lambda v, p: (v[a].unsqueeze(1).expand(-1, 3, -1) * 2).mean(1))
        elif kind == 3:
            self.step(lambda v, p: torch.flip(v[a], [1]))
        else:
            self.step(lambda v, p: v[a].t().contiguous().view(2, self.width // 2, v[a].shape[0]).permute(2, 0, 1)
                      .reshape(v[a].shape[0], self.width))

    def slices(self):
        a, b, kind = self.pick(), self.pick(), self.rng.randint(0, 2)
        half = self.width // 2
        if kind == 0:
            self.step(lambda v, p: torch.cat([v[a][:, :half], v[b][:, half:]], 1))
        elif kind == 1:
            def run(v, p):
                x, y = v[a].split(half, 1)
                return torch.cat([x * y, y.sin()], 1)
            self.step(run)
        else:
            self.step(lambda v, p: F.pad(v[a][:, 1:], (1, 0)))

    def attention(self):
        a, w, h = self.pick(), [self.param(self.width, self.width) for _ in range(3)], 2
        def run(v, p):
            x = v[a]
            q, k, z = ((x @ p[i]).view(x.shape[0], h, self.width // h).transpose(0, 1) for i in w)
            return (torch.softmax(q @ k.transpose(1, 2) / 2, -1) @ z).transpose(0, 1).reshape(x.shape[0], self.width)
        self.step(run)

    def sdpa(self):
        a, w, h = self.pick(), [self.param(self.width, self.width) for _ in range(3)], 2
        def run(v, p):
            x = v[a]
            q, k, z = ((x @ p[i]).view(1, x.shape[0], h, self.width // h).transpose(1, 2) for i in w)
            return F.scaled_dot_product_attention(q, k, z).transpose(1, 2).reshape(x.shape[0], self.width)
        self.step(run)

    def convolution(self):
        a, c = self.pick(), self.rng.choice([1, 2])
        w = self.param(c, c, 3, 3)
        def run(v, p):
            x = v[a].view(v[a].shape[0], c, 2, self.width // (2 * c))
            return F.conv2d(x, p[w], padding=1).reshape(v[a].shape[0], self.width)
        self.step(run)

    def products(self):
        a, w = self.pick(), self.param(2, self.width // 2, self.width // 2)
        def run(v, p):
            x = v[a].view(v[a].shape[0], 2, -1).transpose(0, 1)
            return torch.bmm(x, p[w]).transpose(0, 1).reshape(v[a].shape[0], self.width)
        self.step(run)

    def integers(self):
        a, kind, w = self.pick(), self.rng.randint(0, 4), self.param(5, self.width)
        index = lambda x: (x[:, 0].detach() * 4).to(torch.int64).remainder(5)
        if kind == 0:
            self.step(lambda v, p: v[a] + F.embedding(index(v[a]), p[w]))
        elif kind == 1:
            self.step(lambda v, p: v[a] * ((v[a].detach() * 8).to(torch.int32) >> 1).to(torch.float32))
        elif kind == 2:
            self.step(lambda v, p: v[a] + p[w][index(v[a])])
        elif kind == 3:
            self.step(lambda v, p: v[a].masked_fill(((v[a].detach() * 8).to(torch.int32) & 3) > 1, 0.5))
        else:
            self.step(lambda v, p: torch.where((v[a] > 0) & (v[a] < 1), v[a], v[a].sin()))

    def casts(self):
        a, w = self.pick(), self.param(self.width, self.width)
        self.step(lambda v, p: (v[a].bfloat16() @ p[w].bfloat16()).float())

    def constant(self):
        a, kind = self.pick(), self.rng.randint(0, 3)
        numbers = [self.rng.random() for _ in range(self.width)]
        if kind == 3:
            self.step(lambda v, p: (v[a] * torch.tensor(numbers)).sin())
        elif kind == 0:
            self.step(lambda v, p: v[a] * torch.arange(self.width, dtype=torch.float32))
        elif kind == 1:
            self.step(lambda v, p: v[a] + torch.ones(self.width) * torch.full((self.width,), 0.5))
        else:
            self.step(lambda v, p: v[a].tril() + torch.zeros_like(v[a]))

    def dropout(self):
        a = self.pick()
        self.step(lambda v, p: F.dropout(v[a], 0.25))

    def noise(self):
        a, kind = self.pick(), self.rng.randint(0, 1)
        if kind:
            self.step(lambda v, p: v[a] * torch.rand(v[a].shape[0], self.width))
        else:
            self.step(lambda v, p: v[a] + torch.randn(v[a].shape[0], self.width))

    def run(self, *inputs):
        p, v = inputs[:len(self.params)], list(inputs[len(self.params):])
        for f in self.steps:
            v.append(f(v, p))
        last = v[-1].sum() if self.loss else v[-1]
        return tuple([last, *(x for x, r in zip(v[1:-1], self.results) if r)])


def network(seed):
    n = Network(seed, random_calls=seed % 3 == 1, varies=seed % 4 == 2)
    inputs = [x.requires_grad_() for x in n.params + n.data]
    return n.run, inputs, len(n.params), n.varies
