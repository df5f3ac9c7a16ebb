// Large gradients in pieces: where the gradient of a table or a matrix is made by a product and
// read by its update alone, both run for some rows at a time, so that the whole gradient is never
// in memory.
//
//   %g = mm(%a, %b)                           for each piece of rows:
//   %h = index_add(%g, %i, %s; dim=0)           %g = mm(rows of %a, %b)
//   %w', %m' = update(%w, %m, %h)               %h = the rows of %i in it added
//   return %w' -> %w, %m' -> %m                 rows of %w, %m = update(rows of %w, %m; %h)
//
// What may be in between works on each row by itself: calls element by element, and rows added by
// index (index_add, embedding_dense_backward) where an embedding checks the same indices against as
// many rows. The bits are the same: a product's sums depend on the length of its lines alone, and
// rows are added in the order of their indices.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

struct SplitRows {
  int64_t least_bytes = 0;  // of a gradient that is split
  int64_t most_pieces = 32;
};

// Returns how many updates were split. `graph` is decomposed and not yet fused; sizes that vary are
// left alone. Errors (bug): those of the new calls.
Result<int> split_updates(Graph& graph, const OpRegistry& ops, const SplitRows& rows);

}  // namespace cleave
