// Memory of tensors while a program is read that writes in place.
//
//   x = zeros(3, 4)        memory 0, value %zeros
//   r = x[1]               a view of memory 0 by select(dim=0, index=1)
//   r.add_(1)              %r2 = add(%r, 1), and memory 0 becomes
//                          select_scatter(%zeros, %r2; dim=0, index=1)
//   y = x * 2              reads the memory's new value
//
// A graph has no writes: each makes a new value of the memory, and views made before are made again
// from it when they are next read.
#pragma once
#include <string>
#include <vector>

#include "ir/builder.h"

namespace cleave::exported {

// A call that views its one operand.
struct ViewStep {
  std::string op;
  NamedAttrs attrs;
};

struct Tensor {
  size_t memory = 0;
  std::vector<ViewStep> steps;  // from the memory's value
  ValueId value;                // what they give, as of `version`
  int64_t version = 0;
};

class Memories {
 public:
  // New memory that holds the value.
  Tensor add(ValueId value);
  // What `steps` show of a tensor; `value` is what they give now, if it is known.
  Tensor view(const Tensor& base, const std::vector<ViewStep>& steps, ValueId value) const;
  // Memory that may or may not be that of `base`, as of a reshape: once one of both is written, the
  // other can't be read.
  Tensor copy_or_view(const Tensor& base, ValueId value);

  // The tensor's value now. Errors (unsupported): it may have been written by another name.
  Result<ValueId> read(Builder& b, Tensor& t);
  // Errors (unsupported): the view has elements that lie in one place, or in an order that isn't
  // known.
  Status write(Builder& b, Tensor& t, ValueId value);

  // The memory's value, and whether it was written.
  ValueId value(size_t memory) const { return all_[memory].value; }
  bool is_written(size_t memory) const { return all_[memory].version > 0; }

 private:
  struct Memory {
    ValueId value;
    int64_t version = 0;
    bool is_unknown = false;
    std::vector<size_t> maybe_same;
  };
  std::vector<Memory> all_;
};

}  // namespace cleave::exported
