// The memory of a graph's values while it is lowered: a storage, and a layout in it.
//
//   %x: f32[8,8]            storage 0, [8,1]
//   %t = permute(%x)        storage 0, [1,8]      a view
//   %y = sin(%t)            storage 2, [8,1] at offset 64    its place in %z (place.h)
//   %z = cat([%a, %y])      storage 2             added for the first of its parts
#pragma once
#include "lower/place.h"
#include "lower/program.h"

namespace cleave {

// A storage and a layout in it, as a memref of MLIR.
struct MemRef {
  size_t storage = 0;
  loop::Layout layout;
};
using MemRefs = std::vector<MemRef>;

// Adds a storage; add_dense adds one for a row-major value of the type.
size_t add_storage(LoweredProgram& program, const std::string& name, DType dtype, int64_t elements);
MemRef add_dense(LoweredProgram& program, const std::string& name, const Type& type);

class ValueStorages {
 public:
  // Types must be static. Adds storages to `program`.
  ValueStorages(const Graph& graph, LoweredProgram& program, int64_t row_bytes = 1);

  const MemRef& at(ValueId v) const;  // throws (bug) before it is made
  bool is_made(ValueId v) const { return at_.contains(v.v); }
  MemRef& put(ValueId v, MemRef at) { return at_[v.v] = std::move(at); }

  // In a storage of its own.
  MemRef& make_dense(ValueId v) {
    return put(v, add_dense(program_, graph_.name(v), graph_.type(v)));
  }
  // The memory in which a result is made: what was given for it, its place, or its own storage.
  MemRef& make(ValueId v);
  void give(ValueId v, MemRef at) { given_[v.v] = std::move(at); }
  bool has_place(ValueId v) const { return places_.contains(v.v) || given_.contains(v.v); }
  // Whether it is made in the memory of another value, with others beside it.
  bool is_part(ValueId v) const {
    const auto place = places_.find(v.v);
    return place != places_.end() && place->second.whole != v;
  }
  // The memory of a join's result, if an operand has been made in it; else none.
  std::optional<MemRef> begun(ValueId v) const;

  bool is_returned(ValueId v) const { return returned_[v.v]; }
  bool is_wanted(ValueId v) const { return graph_.use_count(v) > 0 || is_returned(v); }

 private:
  const Graph& graph_;
  LoweredProgram& program_;
  Places places_;
  std::vector<bool> returned_;                   // by value
  std::unordered_map<uint32_t, MemRef> at_;      // by value
  std::unordered_map<uint32_t, MemRef> given_;   // by value
  std::unordered_map<uint32_t, size_t> wholes_;  // storages that have parts, once added
};

}  // namespace cleave
