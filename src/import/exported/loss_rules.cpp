// Losses. Reductions: 0 none, 1 mean, 2 sum.
#include "import/exported/rules.h"
#include "op/wide_grad.h"

namespace cleave::exported {
namespace {

using V = ValueId;

// Classes last, all other dims in one: [N,C,d...] to [N*d,C].
V classes_last(Call& c, V x) {
  const int64_t rank = c.rank(x);
  if (rank <= 2) return x;
  std::vector<int64_t> dims = {0};
  Dim all = c.size(x, 0);
  for (int64_t d = 2; d < rank; ++d) {
    dims.push_back(d);
    all = all * c.size(x, d);
  }
  dims.push_back(1);
  return c.view(c.permute(x, dims), {all, c.size(x, 1)});
}

// Of log probabilities, with the targets' classes.
V nll(Call& c, V logp, V target, int64_t reduction) {
  const Shape shape = c.type(target).shape;
  const V flat = c.rank(logp) > 2 ? c.view(target, {c.type(target).numel()}) : target;
  const V loss =
      c.op("nll_loss_forward", {classes_last(c, logp), flat, c.maybe_tensor("weight")},
           {{"reduction", reduction}, {"ignore_index", c.integer("ignore_index", -100)}});
  return reduction == 0 ? c.view(loss, shape) : loss;
}

V along_classes(Call& c, V weight, V like) {
  Shape size(static_cast<size_t>(c.rank(like)), Dim(1));
  if (size.empty()) return weight;
  size[size.size() == 1 ? 0 : 1] = c.type(weight).numel();
  return c.view(weight, size);
}

// Targets that are probabilities of the classes.
V expected_loss(Call& c, V logp, V p, double smoothing, int64_t dim) {
  const V weight = c.maybe_tensor("weight");
  if (smoothing > 0) {
    const auto classes = static_cast<double>(c.static_size(logp, dim));
    p = c.op("add", {c.op("mul", {p, 1 - smoothing}), smoothing / classes});
  }
  V terms = c.op("mul", {logp, p});
  if (weight.valid()) terms = c.op("mul", {terms, along_classes(c, weight, logp)});
  const V losses = c.op("neg", {c.op("sum", {terms}, {{"dim", std::vector<int64_t>{dim}}})});
  if (c.integer("reduction", 1) != 1) return reduced(c, losses);
  const Dim count = c.type(losses).numel();
  return c.op("div", {c.op("sum", {losses}), CallOperand(AttrValue(count))});
}

// (1 - s) nll + s / C * sum over classes of -weight * logp, of targets that aren't ignored.
V smoothed(Call& c, V logp, V target, double smoothing, int64_t dim) {
  const int64_t reduction = c.integer("reduction", 1);
  const V weight = c.maybe_tensor("weight");
  const V each = weight.valid() ? c.op("mul", {logp, along_classes(c, weight, logp)}) : logp;
  const V sums = c.op("neg", {c.op("sum", {each}, {{"dim", std::vector<int64_t>{dim}}})});
  const V counts = c.op("ne", {target, CallOperand(AttrValue(c.integer("ignore_index", -100)))});
  V spread = c.op("where", {counts, sums, 0.0});
  if (reduction != 0) spread = c.op("sum", {spread});
  if (reduction == 1) {
    V count = c.to(counts, c.type(logp).dtype);
    if (weight.valid()) {
      const V safe = c.op("where", {counts, target, 0});
      const V picked =
          c.op("index_select", {weight, c.view(safe, {c.type(safe).numel()})}, {{"dim", 0}});
      count = c.op("mul", {count, c.view(picked, c.type(target).shape)});
    }
    spread = c.op("div", {spread, c.op("sum", {count})});
  }
  const auto classes = static_cast<double>(c.static_size(logp, dim));
  return c.op("add", {c.op("mul", {nll(c, logp, target, reduction), 1 - smoothing}),
                      c.op("mul", {spread, smoothing / classes})});
}

Values cross_entropy(Call& c) {
  const V x = c.tensor("self"), target = c.tensor("target");
  const int64_t dim = c.rank(x) == 1 ? 0 : 1;
  const V logp = softmax(c, x, dim, "_log_softmax");
  const double smoothing = c.floating("label_smoothing", 0);
  if (is_floating(c.type(target).dtype)) return {expected_loss(c, logp, target, smoothing, dim)};
  if (smoothing > 0) return {smoothed(c, logp, target, smoothing, dim)};
  return {nll(c, logp, target, c.integer("reduction", 1))};
}

V difference(Call& c) { return c.op("sub", {c.tensor("self"), c.tensor("target")}); }

// Near 0 a parabola, else a line; smooth_l1 divides it by beta.
Values huber(Call& c, double delta, double scale) {
  const V d = c.op("abs", {difference(c)});
  if (delta == 0) return {reduced(c, d)};
  const V near = c.op("mul", {c.op("mul", {d, d}), 0.5 * scale});
  const V far = c.op("mul", {c.op("sub", {d, 0.5 * delta}), delta * scale});
  return {reduced(c, c.op("where", {c.op("lt", {d, delta}), near, far}))};
}

Values smooth_l1(Call& c) {
  const double beta = c.floating("beta", 1);
  return huber(c, beta, beta == 0 ? 1 : 1 / beta);
}

// (t - 1) log(1 - p) - t log(p), the logarithms cut at -100. Where p (1 - p) < 1e-12, PyTorch's
// gradient is 1e12 (p - t): that of a line, whose value is taken off again.
Values binary_cross_entropy(Call& c) {
  const DType dtype = c.type(c.tensor("self")).dtype;
  const V p = c.to(c.tensor("self"), wide(dtype)), t = c.tensor("target");
  const V weight = c.maybe_tensor("weight");
  const auto entropy = [&](V q) {
    const V log_q = c.op("clamp", {c.op("log", {q}), -100});
    const V log_rest = c.op("clamp", {c.op("log1p", {c.op("neg", {q})}), -100});
    return c.op("sub", {c.op("mul", {c.op("sub", {t, 1}), log_rest}), c.op("mul", {t, log_q})});
  };
  const V at_edge = c.op("lt", {c.op("mul", {p, c.op("rsub", {p, 1})}), 1e-12});
  const V slope = c.op("detach", {c.op("mul", {c.op("sub", {p, t}), 1e12})});
  const V line = c.op("mul", {p, slope});
  const V edge =
      c.op("add", {entropy(c.op("detach", {p})), c.op("sub", {line, c.op("detach", {line})})});
  V y = c.op("where", {at_edge, edge, entropy(c.op("where", {at_edge, 0.5, p}))});
  y = c.to(y, dtype);
  if (weight.valid()) y = c.op("mul", {y, weight});
  return {reduced(c, y)};
}

// (1 - t) x - (1 + (pos_weight - 1) t) log(sigmoid(x))
Values with_logits(Call& c) {
  const V x = c.tensor("self"), t = c.tensor("target"), weight = c.maybe_tensor("weight"),
          pos = c.maybe_tensor("pos_weight");
  V log = log_sigmoid(c, x);
  if (pos.valid()) {
    const V more = c.op("mul", {c.op("sub", {pos, 1}), t});
    log = c.op("mul", {c.op("add", {more, 1}), log});
  }
  V y = c.op("sub", {c.op("mul", {c.op("rsub", {t, 1}), x}), log});
  if (weight.valid()) y = c.op("mul", {y, weight});
  return {reduced(c, y)};
}

Values kl_div(Call& c) {
  const V x = c.tensor("self"), t = c.tensor("target");
  if (c.flag("log_target", false))
    return {reduced(c, c.op("mul", {c.op("exp", {t}), c.op("sub", {t, x})}))};
  // log(1) where the target is 0, so that the gradient isn't 0 * inf
  const V log_t = c.op("log", {c.op("where", {c.op("eq", {t, 0}), 1.0, t})});
  return {reduced(c, c.op("sub", {c.op("mul", {t, log_t}), c.op("mul", {t, x})}))};
}

}  // namespace

ValueId reduced(Call& c, ValueId losses) {
  switch (c.integer("reduction", 1)) {
    case 0: return losses;
    case 1: return c.op("mean", {losses});
    case 2: return c.op("sum", {losses});
    default: return c.fail("a reduction that is none of none, mean, sum");
  }
}

std::span<const RuleRow> loss_rules() {
  static constexpr RuleRow rows[] = {
      {"cross_entropy_loss", in_f32<cross_entropy>},
      {"nll_loss",
       [](Call& c) -> Values {
         return {nll(c, c.tensor("self"), c.tensor("target"), c.integer("reduction", 1))};
       }},
      {"nll_loss_nd",
       [](Call& c) -> Values {
         return {nll(c, c.tensor("self"), c.tensor("target"), c.integer("reduction", 1))};
       }},
      {"nll_loss2d",
       [](Call& c) -> Values {
         return {nll(c, c.tensor("self"), c.tensor("target"), c.integer("reduction", 1))};
       }},
      {"mse_loss",
       in_f32<[](Call& c) -> Values { return {reduced(c, c.op("pow", {difference(c), 2}))}; }>},
      {"l1_loss",
       in_f32<[](Call& c) -> Values { return {reduced(c, c.op("abs", {difference(c)}))}; }>},
      {"smooth_l1_loss", in_f32<smooth_l1>},
      {"huber_loss", in_f32<[](Call& c) -> Values { return huber(c, c.floating("delta", 1), 1); }>},
      {"binary_cross_entropy", in_f32<binary_cross_entropy>},
      {"binary_cross_entropy_with_logits", in_f32<with_logits>},
      {"kl_div", in_f32<kl_div>},
  };
  return rows;
}

}  // namespace cleave::exported
