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
//
// A write that autograd doesn't see, under no_grad() or through detach(), changes what a tensor
// holds and leaves it the gradient that it had. So the new value stands for the old one:
//
//   h = w * 1; with no_grad(): h[0] = 0        new = select_scatter(%h, 0; dim=0, index=0)
//   h becomes  detach(new) - (detach(%h) - %h), the difference being 0 where %h is infinite or NaN
//
// whose bits are those of new, and whose gradient that of %h (0 where it isn't finite).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "import/exported/gradient_paths.h"
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
  size_t id = 0;  // names of one tensor have the same
};

enum class Gradients : uint8_t { kept, stopped };

class Memories {
 public:
  explicit Memories(GradientPaths& paths) : paths_(paths) {}

  // Whether autograd sees what is done from here on.
  Gradients gradients() const { return gradients_; }
  void set_gradients(Gradients g) { gradients_ = g; }

  // New memory that holds the value.
  Tensor add(ValueId value);
  // What `steps` show of a tensor; `value` is what they give now.
  Tensor view(const Tensor& base, const std::vector<ViewStep>& steps, ValueId value);
  // Memory that may or may not be that of each base, as of a reshape: once one of them is written,
  // the others can't be read.
  Tensor copy_or_view(std::span<const Tensor> bases, ValueId value);
  // The tensor without its gradient.
  Result<Tensor> detached(Builder& b, Tensor& t);
  // A tensor that leaves a region without gradients, in which memory `first` and later was made.
  Result<Tensor> out_of_region(Builder& b, Tensor& t, size_t first);

  // The tensor's value now. Errors (unsupported): it may have been written by another name.
  Result<ValueId> read(Builder& b, Tensor& t);
  // Errors (unsupported): the view has elements that lie in one place, or in an order that isn't
  // known.
  Status write(Builder& b, Tensor& t, ValueId value);

  size_t count() const { return all_.size(); }
  // The memory's value, none if it wasn't written. Errors (unsupported): it isn't known.
  Result<ValueId> written(size_t memory) const;

 private:
  struct Memory {
    ValueId value;
    int64_t version = 0;
    bool is_unknown = false;
    bool is_stopped = false;  // made in a region without gradients that is being read
    bool has_hidden = false;  // a gradient, written through detach(), that `value` hasn't
    std::vector<size_t> maybe_same = {};
  };
  void forget_others(size_t memory);
  ValueId without_gradient(Builder& b, ValueId v);

  GradientPaths& paths_;
  Gradients gradients_ = Gradients::kept;
  std::vector<Memory> all_;
  size_t next_id_ = 0;
};

}  // namespace cleave::exported
