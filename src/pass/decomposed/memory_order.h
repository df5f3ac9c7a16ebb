// In which order the dims of a value lie in the memory that it is computed from.
//
//   %x f32[2,20,12]                          %v is read along 3, 0, ...: its dims are those of %x
//   %p = permute(%x; dims=[0,2,1])           in another order, [2,20,6,2]
//   %v = view(%p; size=[2,6,2,20])
//                                              of dim      0   1   2   3
//   A dim may be several of memory,            parts       2   6   2   20
//   its parts.                                 order       0,  3,  1,  2
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "loop/reorder.h"

namespace cleave {

class DimOrder {
 public:
  // memory: from the number of an element of this shape to that in memory. nullopt: some dim isn't
  // whole parts.
  static std::optional<DimOrder> of(const std::vector<int64_t>& shape, const Reorder& memory);

  const Reorder& memory() const { return memory_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // Whether a type has this shape with 1 for some dims, of which it may lack leading ones.
  bool fits(const Type& t) const;
  bool is_whole(const Type& t) const;  // with no 1 for another extent

  // ---- of shapes with as many dims, or 1 for some
  Shape parts(const Shape& shape) const;        // in the order of the dims
  Shape in_memory(const Shape& shape) const;    // in that of memory
  bool keeps_places(const Shape& shape) const;  // both are the same but for dims of 1
  // Of permute, from parts to memory and back.
  const std::vector<int64_t>& order() const { return order_; }
  std::vector<int64_t> back() const;
  // The parts of these dims, as dims in memory, rising.
  std::vector<int64_t> dims_in_memory(const std::vector<int64_t>& dims) const;
  Shape padded(const Shape& shape) const;  // with the leading dims that it lacks

 private:
  DimOrder(std::vector<int64_t> shape, Reorder memory)
      : shape_(std::move(shape)), memory_(std::move(memory)) {}
  struct Part {
    size_t dim;
    int64_t extent;
  };
  std::vector<int64_t> shape_;
  Reorder memory_;
  std::vector<Part> parts_;
  std::vector<int64_t> order_;  // of parts
};

// What a value is computed from, element by element: results of other calls, placeholders, clones.
struct MemoryRead {
  ValueId value;
  Reorder order;  // from the reader's number to that of the element of `value`
};
// Each once. Values of which elements are left out or repeated aren't among them.
std::vector<MemoryRead> memory_reads(const Graph& graph, ValueId reader);

// Whether a call is a view whose types are static.
bool is_static_view(const Graph& graph, NodeId n);

}  // namespace cleave
