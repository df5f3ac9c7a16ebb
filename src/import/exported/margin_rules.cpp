// Losses of margins and counts. Reductions: 0 none, 1 mean, 2 sum.
#include <cmath>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

V self_of(Call& c) { return c.tensor("self"); }

V positive(Call& c, V x) { return c.op("clamp", {x, 0.0}); }

// log(1 + exp(-y x))
Values soft_margin(Call& c) {
  const V product = c.op("mul", {c.tensor("target"), self_of(c)});
  return {reduced(c, c.op("log1p", {c.op("exp", {c.op("neg", {product})})}))};
}

// max(0, -y (x1 - x2) + margin)
Values margin_ranking(Call& c) {
  const V apart = c.op("sub", {c.tensor("input1"), c.tensor("input2")});
  const V y = c.op("neg", {c.op("mul", {c.tensor("target"), apart})});
  return {reduced(c, positive(c, c.op("add", {y, c.floating("margin", 0)})))};
}

// x where the target is 1, max(0, margin - x) where it is -1
Values hinge_embedding(Call& c) {
  const V x = self_of(c), t = c.tensor("target");
  const V far = positive(c, c.op("rsub", {x, c.floating("margin", 1)}));
  const V apart = c.op("where", {c.op("eq", {t, 1}), 0.0, far});
  const V same = c.op("where", {c.op("eq", {t, -1}), 0.0, x});
  return {reduced(c, c.op("add", {apart, same}))};
}

// 1 - cos where the target is 1, max(0, cos - margin) where it is -1
Values cosine_embedding(Call& c) {
  constexpr double eps = 1e-12;
  const V a = c.tensor("input1"), b = c.tensor("input2"), t = c.tensor("target");
  const auto dot = [&](V x, V y) {
    return c.op("sum", {c.op("mul", {x, y})}, {{"dim", Dims{c.rank(t)}}});
  };
  const V squares = c.op("mul", {c.op("add", {dot(a, a), eps}), c.op("add", {dot(b, b), eps})});
  const V cosine = c.op("div", {dot(a, b), c.op("sqrt", {squares})});
  const V near = c.op("rsub", {cosine, 1.0});
  const V far = positive(c, c.op("sub", {cosine, c.floating("margin", 0)}));
  const V apart = c.op("where", {c.op("eq", {t, -1}), far, 0.0});
  return {reduced(c, c.op("where", {c.op("eq", {t, 1}), near, apart}))};
}

// max(0, |a - p| - |a - n| + margin); swapped: of |a - n| and |p - n| the smaller one
Values triplet_margin(Call& c) {
  const V anchor = c.tensor("anchor"), like = c.tensor("positive"), other = c.tensor("negative");
  const auto distance = [&](V x, V y) {
    const V apart = c.op("add", {c.op("sub", {x, y}), c.floating("eps", 1e-6)});
    return c.op("linalg_vector_norm", {apart}, {{"ord", c.floating("p", 2)}, {"dim", Dims{-1}}});
  };
  V far = distance(anchor, other);
  if (c.flag("swap", false)) far = c.op("minimum", {far, distance(like, other)});
  const V y = c.op("sub", {distance(anchor, like), far});
  return {reduced(c, positive(c, c.op("add", {y, c.floating("margin", 1)})))};
}

// exp(x) - t x of logarithms, x - t log(x + eps) of rates; full adds Stirling's t log t - t + ...
Values poisson(Call& c) {
  const V x = c.tensor("input"), t = c.tensor("target");
  V y;
  if (c.flag("log_input", true)) {
    y = c.op("sub", {c.op("exp", {x}), c.op("mul", {t, x})});
  } else {
    const V log = c.op("log", {c.op("add", {x, c.floating("eps", 1e-8)})});
    y = c.op("sub", {x, c.op("mul", {t, log})});
  }
  if (c.flag("full", false)) {
    const V product = c.op("sub", {c.op("mul", {t, c.op("log", {t})}), t});
    const V half = c.op("mul", {c.op("log", {c.op("mul", {t, 2 * M_PI})}), 0.5});
    const V stirling = c.op("add", {product, half});
    y = c.op("add", {y, c.op("where", {c.op("le", {t, 1.0}), 0.0, stirling})});
  }
  return {reduced(c, y)};
}

// The mean over classes other than y of max(0, margin - x[y] + x[k])^p, times weight[y]
Values multi_margin(Call& c) {
  V x = self_of(c), t = c.tensor("target");
  const bool single = c.rank(x) < 2;
  if (single) x = c.view(x, {Dim(1), c.type(x).numel()});
  t = c.view(t, {c.type(t).numel()});
  const V weight = c.maybe_tensor("weight"), at = c.op("unsqueeze", {t}, {{"dim", 1}});
  const V own = c.op("gather", {x, at}, {{"dim", 1}});
  V y = positive(c, c.op("add", {c.op("sub", {x, own}), c.floating("margin", 1)}));
  if (c.integer("p", 1) == 2) y = c.op("mul", {y, y});
  if (weight.valid()) {
    const V own_weight = c.op("index_select", {weight, t}, {{"dim", 0}});
    y = c.op("mul", {y, c.op("unsqueeze", {own_weight}, {{"dim", 1}})});
  }
  const V k = c.op("arange", {}, {{"end", c.size(x, 1)}});
  y = c.op("mean", {c.op("where", {c.op("eq", {k, at}), 0.0, y})}, {{"dim", Dims{1}}});
  if (single && c.integer("reduction", 1) == 0) y = c.view(y, c.type(c.tensor("target")).shape);
  return {reduced(c, y)};
}

}  // namespace

std::span<const RuleRow> margin_rules() {
  static constexpr RuleRow rows[] = {
      {"soft_margin_loss", in_f32<soft_margin>},
      {"margin_ranking_loss", in_f32<margin_ranking>},
      {"hinge_embedding_loss", in_f32<hinge_embedding>},
      {"cosine_embedding_loss", in_f32<cosine_embedding>},
      {"triplet_margin_loss", in_f32<triplet_margin>},
      {"poisson_nll_loss", in_f32<poisson>},
      {"multi_margin_loss", in_f32<multi_margin>},
  };
  return rows;
}

}  // namespace cleave::exported
