#include "cut/pytorch_ops.h"

#include <string_view>
#include <unordered_set>

namespace cleave {
namespace {

using Names = std::unordered_set<std::string_view>;

// PyTorch adds operators with ATen's tag `pointwise` to its list; they are written out here.
const Names recomputable = {
    // clang-format off
    "abs", "acos", "acosh", "add", "amax", "any", "arange", "argmax", "asin", "asinh", "atan",
    "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp",
    "clone", "conj_physical", "cos", "cosh", "digamma", "div", "elu", "empty", "empty_like", "eq",
    "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "fmod", "full", "full_like", "gather",
    "gcd", "ge", "gelu", "gelu_backward", "gt", "hardsigmoid", "hardtanh", "i0", "index", "isinf",
    "isnan", "lcm", "le", "leaky_relu", "lgamma", "lift_fresh_copy", "log", "log10", "log1p",
    "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "masked_fill", "max",
    "maximum", "mean", "min", "minimum", "mul", "native_dropout_backward", "ne", "neg", "ones",
    "polygamma", "pow", "reciprocal", "relu", "remainder", "reshape", "round", "rsqrt", "rsub",
    "scalar_tensor", "sigmoid", "sigmoid_backward", "sign", "silu", "silu_backward", "sin", "sinh",
    "softplus", "special_erfcx", "special_i0e", "special_i1", "special_i1e", "special_log_ndtr",
    "special_ndtri", "sqrt", "sub", "sum", "tan", "tanh", "tanh_backward", "threshold_backward",
    "trunc", "var", "where", "zeros", "zeros_like", "__rshift__", "_to_copy", "_unsafe_view",
    // cleave's own
    "adam_step", "rng_next", "rng_fold", "is_same_size",
    // clang-format on
};
const Names views = {"alias", "as_strided", "expand",    "permute", "select", "slice",
                     "split", "squeeze",    "unsqueeze", "t",       "view"};
const Names compute_intensive = {"addmm",
                                 "bmm",
                                 "convolution",
                                 "convolution_backward",
                                 "mm",
                                 "scaled_dot_product_attention",
                                 "_scaled_dot_product_efficient_attention",
                                 "upsample_bilinear2d"};
const Names random_ops = {"native_dropout"};

std::vector<int64_t> sizes_of(const OpView& op, const Type& t) {
  std::vector<int64_t> out;
  for (const Dim& d : t.shape) out.push_back(op.env().hint_of(d));
  return out;
}

int64_t product(const std::vector<int64_t>& sizes, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < sizes.size(); ++i) n *= sizes[i];
  return n;
}

// [m, k] x [k, n], or [b, m, k] x [b, k, n].
int64_t product_flops(const OpView& op, int a, int b) {
  return 2 * product(sizes_of(op, op.in_type(a)), 0) * sizes_of(op, op.in_type(b)).back();
}

int64_t convolution_flops(const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                          const std::vector<int64_t>& out, bool transposed) {
  return 2 * x[0] * product(transposed ? x : out, 2) * product(w, 0);
}

int64_t convolution_backward_flops(const OpView& op) {
  const std::vector<int64_t> dy = sizes_of(op, op.in_type(0)), x = sizes_of(op, op.in_type(1)),
                             w = sizes_of(op, op.in_type(2));
  const bool transposed = op.bool_attr("transposed");
  const auto swapped = [](std::vector<int64_t> s) {
    std::swap(s[0], s[1]);
    return s;
  };
  int64_t flops = 0;
  const AttrList* mask = op.attr("output_mask").get<AttrList>();
  const auto asked = [&](size_t k) {
    const bool* on = mask && k < mask->size() ? (*mask)[k].get<bool>() : nullptr;
    return on && *on;
  };
  if (asked(0)) flops += convolution_flops(dy, w, x, !transposed);
  if (asked(1))
    flops += transposed ? convolution_flops(swapped(dy), swapped(x), swapped(w), false)
                        : convolution_flops(swapped(x), swapped(dy), swapped(w), false);
  return flops;
}

// Operands q, k, v from `first` on: [*, s, d] each. For each head there are `with_qk` products of
// s_q x s_k x d_q and `with_v` of s_q x s_k x d_v.
int64_t attention_flops(const OpView& op, int first, int with_qk, int with_v) {
  const std::vector<int64_t> q = sizes_of(op, op.in_type(first)),
                             k = sizes_of(op, op.in_type(first + 1)),
                             v = sizes_of(op, op.in_type(first + 2));
  const int64_t rows = product({q.begin(), q.end() - 1}, 0);  // of all heads
  return 2 * rows * k[k.size() - 2] * (with_qk * q.back() + with_v * v.back());
}

}  // namespace

PytorchOp pytorch_op(const OpDef& op) {
  return {recomputable.contains(op.name) || views.contains(op.name), views.contains(op.name),
          compute_intensive.contains(op.name), random_ops.contains(op.name),
          op.name == "lift_fresh_copy"};
}

int64_t pytorch_flops(const Graph& g, NodeId n) {
  const OpView op = g.view(n);
  const std::string& name = op.name();
  if (name == "mm" || name == "bmm") return product_flops(op, 0, 1);
  if (name == "addmm" || name == "baddbmm") return product_flops(op, 1, 2);
  if (name == "convolution")
    return convolution_flops(sizes_of(op, op.in_type(0)), sizes_of(op, op.in_type(1)),
                             sizes_of(op, op.out_type(0)), op.bool_attr("transposed"));
  if (name == "convolution_backward") return convolution_backward_flops(op);
  if (name == "_scaled_dot_product_efficient_attention" || name == "scaled_dot_product_attention")
    return attention_flops(op, 0, 1, 1);
  if (name == "_scaled_dot_product_efficient_attention_backward")
    return attention_flops(op, 1, 3, 2);
  return 0;
}

}  // namespace cleave
