// Pieces of a value: results of split, chunk, unbind, select, slice, squeeze and unsqueeze.
//
//   %a, %b = split_with_sizes(%x; split_sizes=[2,4], dim=1)   b is [2,6) of x along dim 1
//   %s = select(%x; dim=1, index=3)                           s is [3,4) of it, without the dim
//
// Joining consecutive pieces again gives a slice of the whole, with the dim moved if they are
// joined along another one:
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
  bool drops = false;  // the dim, of size 1, is removed
};

// Finds pieces; asking for the results of one call in order is cheapest. Looks only through calls
// with this tag.
class PieceFinder {
 public:
  PieceFinder(const Graph& graph, CheckpointTag tag) : graph_(graph), tag_(tag) {}
  std::optional<Piece> find(ValueId v);

 private:
  Piece part_of_split(NodeId n, uint32_t index, bool drops);

  const Graph& graph_;
  CheckpointTag tag_;
  NodeId last_;  // the last split asked about, the result index, and where that result ends
  uint32_t last_index_ = 0;
  Dim last_stop_;
};

// Whether `next` begins where p ends, in the same value.
bool is_followed(const SymEnv& env, const Piece& p, const Piece& next);
// The slice of the whole, with its dim; the whole itself if the piece covers it.
ValueId narrowed(Builder& b, const Piece& p);

}  // namespace cleave
