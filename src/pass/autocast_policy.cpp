// PyTorch's lists for the CPU, in terms of graph operators.
//
// Source: aten/src/ATen/autocast_mode.cpp, TORCH_LIBRARY_IMPL(aten, AutocastCPU), PyTorch 2.13.
// PyTorch casts where a function is called, before it is decomposed; rows whose names differ say
// what the function decomposes to. Losses that consist of several calls are cast where they are
// traced (trace/function_loss.cpp). Functions without a graph operator have no row.
#include "pass/autocast_policy.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr CastPolicy lower = CastPolicy::lower, f32 = CastPolicy::f32;

constexpr CastRow rows[] = {
    {"mm", lower, "mm, matmul, linear"},
    {"bmm", lower, "bmm, matmul"},
    {"addmm", lower, "addmm, linear"},
    {"baddbmm", lower, ""},
    {"convolution", lower, "conv1d, conv2d, conv3d, conv_transpose1d, 2d and 3d"},
    {"scaled_dot_product_attention", lower, ""},
    {"_scaled_dot_product_flash_attention_for_cpu", lower, "scaled_dot_product_attention"},
    {"_scaled_dot_product_efficient_attention", lower, "scaled_dot_product_attention"},

    {"prod", f32, ""},
    {"avg_pool3d", f32, ""},
    {"_adaptive_avg_pool3d", f32, "adaptive_avg_pool3d"},
    {"max_pool3d_with_indices", f32, "max_pool3d"},
    {"reflection_pad1d", f32, ""},
    {"reflection_pad2d", f32, ""},
    {"replication_pad1d", f32, ""},
    {"replication_pad2d", f32, ""},
    {"replication_pad3d", f32, ""},
    {"_log_softmax", f32, "cross_entropy_loss"},
    {"nll_loss_forward", f32, "nll_loss, cross_entropy_loss"},

    {"cat", CastPolicy::promote, ""},
    {"stack", CastPolicy::promote, ""},
};

constexpr std::string_view whole_views[] = {"_unsafe_view", "expand",    "permute",
                                            "reshape",      "squeeze",   "t",
                                            "transpose",    "unsqueeze", "view"};

bool has_subgraph(const OpDef& op) {
  return std::ranges::any_of(op.schema.args,
                             [](const ArgDef& a) { return a.kind == ArgKind::graph; });
}

}  // namespace

std::span<const CastRow> cast_rows() { return rows; }

bool holds_all(const OpDef& view) {
  return std::ranges::find(whole_views, std::string_view(view.name)) != std::end(whole_views);
}

CastPolicy cast_policy(const OpDef& op) {
  if (op.file.empty() || has_subgraph(op)) return CastPolicy::declared;
  const auto row = std::ranges::find(rows, std::string_view(op.name), &CastRow::op);
  return row == std::end(rows) ? CastPolicy::follow : row->policy;
}

}  // namespace cleave
