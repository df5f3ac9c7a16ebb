#include "test/sample/reduction_chain.h"

#include <algorithm>
#include <numeric>

namespace cleave::random {
namespace {

class Chain {
 public:
  Chain(const Graph& g, ValueId x, std::mt19937_64& rng, const Call& call)
      : g_(g), x_(x), rng_(rng), call_(call) {}

  ValueId run() {
    const uint64_t reductions = 1 + below(3);
    for (uint64_t k = 0; k < reductions; ++k) {
      for (uint64_t between = below(3); between > 0; --between) below(2) ? view() : pointwise();
      if (!is_floating(dtype())) return x_;
      below(4) == 0 ? along() : reduce();
      if (rank() == 0) return x_;
    }
    if (below(2)) pointwise();
    return x_;
  }

 private:
  uint64_t below(uint64_t n) { return rng_() % n; }
  DType dtype() const { return g_.type(x_).dtype; }
  size_t rank() const { return static_shape(g_.type(x_)).size(); }

  // x becomes the call's result, where it is taken.
  bool to(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs = {}) {
    const ValueId v = call_(op, std::move(operands), std::move(attrs));
    if (v.valid()) x_ = v;
    return v.valid();
  }
  static AttrValue list_of(const std::vector<int64_t>& numbers) { return numbers; }

  void pointwise() {
    if (!is_floating(dtype())) return;
    switch (below(7)) {
      case 0: to("sin", {x_}); break;
      case 1: to("tanh", {x_}); break;
      case 2: to("mul", {x_, x_}); break;
      case 3: to("mul", {x_, CallOperand(0.37)}); break;
      case 4: to("relu", {x_}); break;
      case 5: to("_to_copy", {x_}, {{"dtype", below(2) ? DType::bf16 : DType::f32}}); break;
      default:
        if (const ValueId e = call_("sin", {x_}, {}); e.valid()) to("exp", {e});
    }
  }

  void view() {
    const std::vector<int64_t> shape = static_shape(g_.type(x_));
    const size_t r = shape.size();
    if (r == 0) return;
    const size_t d = below(r);
    switch (below(6)) {
      case 0: {
        std::vector<int64_t> order(r);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), rng_);
        to("permute", {x_}, {{"dims", list_of(order)}});
        break;
      }
      case 1: {  // two neighbours are one, or all
        std::vector<int64_t> merged = shape;
        if (d + 1 < r) {
          merged[d] *= merged[d + 1];
          merged.erase(merged.begin() + static_cast<int64_t>(d) + 1);
        } else {
          merged = {-1};
        }
        to("reshape", {x_}, {{"shape", list_of(merged)}});
        break;
      }
      case 2: {  // one is two
        for (const int64_t part : {2, 3, 5, 16})
          if (shape[d] > part && shape[d] % part == 0) {
            std::vector<int64_t> cut = shape;
            cut[d] = shape[d] / part;
            cut.insert(cut.begin() + static_cast<int64_t>(d) + 1, part);
            to("reshape", {x_}, {{"shape", list_of(cut)}});
            break;
          }
        break;
      }
      case 3: to("flip", {x_}, {{"dims", list_of({static_cast<int64_t>(d)})}}); break;
      case 4: {
        const int64_t start = shape[d] > 1 ? static_cast<int64_t>(below(2)) : 0;
        to("slice", {x_},
           {{"dim", static_cast<int64_t>(d)},
            {"start", start},
            {"end", shape[d]},
            {"step", static_cast<int64_t>(1 + below(2))}});
        break;
      }
      default: to("unsqueeze", {x_}, {{"dim", static_cast<int64_t>(d)}});
    }
  }

  // Any of them; often one with others after it, whose folds run side by side.
  std::vector<int64_t> some_dims() {
    std::vector<int64_t> out;
    const size_t r = rank();
    if (r > 1 && below(3) == 0) return {static_cast<int64_t>(below(r - 1))};
    for (size_t d = 0; d < r; ++d)
      if (below(2)) out.push_back(static_cast<int64_t>(d));
    if (out.empty()) out.push_back(static_cast<int64_t>(below(r)));
    return out;
  }

  void reduce() {
    if (rank() == 0) return;
    const ValueId whole = x_;
    const bool keep = below(2);
    const AttrValue dims = list_of(some_dims());
    const AttrValue dim = static_cast<int64_t>(below(rank()));
    bool done = false;
    switch (below(10)) {
      case 0:
      case 1: done = to("sum", {x_}, {{"dim", dims}, {"keepdim", keep}}); break;
      case 2: done = to("mean", {x_}, {{"dim", dims}, {"keepdim", keep}}); break;
      case 3: done = to("amax", {x_}, {{"dim", dims}, {"keepdim", keep}}); break;
      case 4: done = to("amin", {x_}, {{"dim", dims}, {"keepdim", keep}}); break;
      case 5:
      case 6:
        done =
            to("var", {x_},
               {{"dim", dims}, {"correction", static_cast<int64_t>(below(2))}, {"keepdim", keep}});
        break;
      case 7: done = to("logsumexp", {x_}, {{"dim", dims}, {"keepdim", keep}}); break;
      case 8: done = to("linalg_vector_norm", {x_}, {{"dim", dims}, {"keepdim", keep}}); break;
      default: {
        if (const ValueId s = call_("sin", {x_}, {}); s.valid()) x_ = s;
        done = to("prod", {x_}, {{"dim", dim}, {"keepdim", keep}});
      }
    }
    if (done && keep && below(2)) to(below(2) ? "sub" : "mul", {whole, x_});
  }

  // A value for each element, that reads others of its line.
  void along() {
    if (rank() == 0) return;
    const AttrValue dim = static_cast<int64_t>(below(rank()));
    switch (below(4)) {
      case 0: to("_softmax", {x_}, {{"dim", dim}, {"half_to_float", false}}); break;
      case 1: to("_log_softmax", {x_}, {{"dim", dim}, {"half_to_float", false}}); break;
      case 2: to("cumsum", {x_}, {{"dim", dim}}); break;
      default: {
        const std::vector<int64_t> shape = static_shape(g_.type(x_));
        const size_t last = 1 + below(shape.size());
        const std::vector<int64_t> normalized(shape.end() - static_cast<int64_t>(last),
                                              shape.end());
        to("native_layer_norm", {x_}, {{"normalized_shape", list_of(normalized)}, {"eps", 1e-5}});
      }
    }
  }

  const Graph& g_;
  ValueId x_;
  std::mt19937_64& rng_;
  const Call& call_;
};

}  // namespace

ValueId reduction_chain(const Graph& g, ValueId x, std::mt19937_64& rng, const Call& call) {
  return Chain(g, x, rng, call).run();
}

}  // namespace cleave::random
