// Shared by native_group_norm and its backward. Channels are split into groups; each group of one
// sample is normalised together.
//
//   input f32[2,6,4,4], N=2, C=6, HxW=16, group=3  ->  seen as [2,3,2,16], statistics [2,3]
//
//   (C1) input has N * C * HxW elements, N and C are its first dims
//   (C2) group is positive and divides C
//   (C3) weight and bias are [C], mean and rstd [N,group]
//   (C4) input is floating; weight and bias have its dtype, or f32 where that is bf16 or f16
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/norm_graph.h"
#include "op/sample_sets.h"

namespace cleave {

Status check_group_norm(const OpView& op, int input);

// [N, group, C/group, HxW] with 1 for the dims that aren't requested.
struct GroupView {
  Dim samples, group, channels, pixels;
  explicit GroupView(const OpView& op);
  Shape whole() const { return {samples, group, channels, pixels}; }
  Shape statistic() const { return {samples, group, Dim(1), Dim(1)}; }
  Shape parameter() const { return {Dim(1), group, channels, Dim(1)}; }
  bool is_empty() const;  // groups have no elements, whatever N is
};

NormMap group_norm_map(const OpView& op);

}  // namespace cleave
