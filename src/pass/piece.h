// Parts of one value: what split, chunk, unbind, select, slice, squeeze and unsqueeze give.
//
//   %a, %b = split_with_sizes(%x; split_sizes=[2,4], dim=1)   b is [2,6) of x along dim 1
//   %s = select(%x; dim=1, index=3)                           s is [3,4) of it, and the dim is gone
//
// Joined again, consecutive parts are a slice of the whole, moved where they are joined elsewhere:
//
//   cat([x[:,2:4], x[:,4:6]]; dim=1)   ->  x[:,2:6]
//   stack([x[:,0], x[:,1]]; dim=0)     ->  permute(x[:,0:2]; 1,0)
#pragma once
#include "ir/builder.h"

namespace cleave {

struct Piece {
  ValueId whole;
  int64_t dim = 0;
  Dim start, stop;
  bool drops = false;  // the dim, of size 1, is gone
};

// Finds pieces; the results of one call cost least in their order. Looks through calls of one tag.
class PieceFinder {
 public:
  PieceFinder(const Graph& graph, CheckpointTag tag) : graph_(graph), tag_(tag) {}
  std::optional<Piece> find(ValueId v);

 private:
  Piece part_of_split(NodeId n, uint32_t index, bool drops);

  const Graph& graph_;
  CheckpointTag tag_;
  NodeId last_;  // the split that was asked for last, its result, and where that one stops
  uint32_t last_index_ = 0;
  Dim last_stop_;
};

// Whether `next` begins where p ends, in the same value.
bool is_followed(const SymEnv& env, const Piece& p, const Piece& next);
// The slice of the whole, with its dim; the whole itself where it is all of it.
ValueId narrowed(Builder& b, const Piece& p);

}  // namespace cleave
