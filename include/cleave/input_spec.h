// What a program is compiled for: the name, dtype, shape and strides of each input, and what the
// program does with its memory.
//
//   {"x", DType::f32, {64, 2}}                  always 64 x 2
//   {"x", DType::f32, {dyn("B", 1, 64), 2}}     1 to 64 rows, as each run gives them
//   {"x", DType::f32, {64, 2}, {1, 64}}         column-major
//   {.name = "cache", .shape = {8, 64}, .is_static = true, .is_updated = true}
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "cleave/dtype.h"
#include "cleave/error.h"

namespace cleave {

// A size that may be another one in each run, from `least` to `most`, both included. `hint`: one
// that is frequent, if it isn't 0.
struct DynamicSize {
  std::string name;
  int64_t least = 1, most = 1, hint = 0;
};

// A size that varies, for the dims of InputSpecs: {"x", DType::f32, {dyn("B", 1, 64), 2}}. Dims of
// the same name have the same size in each run, in all inputs; their bounds have to be the same.
//
// The program for the largest sizes is made at once, with the errors of the model, and that for the
// hints, where there are any; for others at the first run with them: the function is called again,
// and the stages choose for these sizes as if they were the only ones. All take the functions of
// their kernels from one pool, with what varies as arguments, which was learned from a few sizes at
// the beginning: so the function is called for them as well, and at a new size a compiler runs only
// where those didn't show what its kernels need (Report::recompiled). What the function refers to
// has to live as long as the program, and what it makes for one size it has to make for each.
// Results have the bits of a program compiled for that size alone; all share the Variables, the
// store, learning rates and random numbers, the threads and the memory of the arena.
// CompileOptions::kept_sizes says how many are kept.
//
// Errors (user) of a run: a size outside the bounds; two sizes for one name; and those of the
// trace, which name the sizes. A memory budget holds for each size by itself.
inline DynamicSize dyn(std::string name, int64_t least, int64_t most, int64_t hint = 0) {
  return {std::move(name), least, most, hint};
}

class InputDim {
 public:
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  InputDim(T size) : size_{{}, static_cast<int64_t>(size), static_cast<int64_t>(size)} {}
  InputDim(DynamicSize size) : size_(std::move(size)), varies_(true) {}
  bool varies() const { return varies_; }
  // Of a number: without a name, both bounds are it.
  const DynamicSize& size() const { return size_; }

 private:
  DynamicSize size_;
  bool varies_ = false;
};

// The dims of an input: numbers, or sizes that vary.
class InputShape {
 public:
  InputShape() = default;
  InputShape(std::initializer_list<InputDim> dims) : dims_(dims) { set_largest(); }
  InputShape(const std::vector<int64_t>& sizes) : dims_(sizes.begin(), sizes.end()) {
    set_largest();
  }
  explicit InputShape(std::vector<InputDim> dims) : dims_(std::move(dims)) { set_largest(); }
  const std::vector<InputDim>& dims() const { return dims_; }
  // The sizes; of those that vary, the largest.
  const std::vector<int64_t>& largest() const { return largest_; }
  operator const std::vector<int64_t>&() const { return largest_; }

 private:
  void set_largest() {
    for (const InputDim& d : dims_) largest_.push_back(d.size().most);
  }
  std::vector<InputDim> dims_;
  std::vector<int64_t> largest_;
};

struct CLEAVE_API InputSpec {  // exported, as Tree<InputSpec> is
  std::string name = {};       // of the placeholder
  DType dtype = DType::f32;
  InputShape shape = {};
  // One a dim, in elements, the same for all sizes that vary; empty: row-major. A run's tensor has
  // to have these strides, dims of size 1 aside. What is only read may lie over itself: a stride of
  // 0 repeats a row.
  std::vector<int64_t> strides = {};
  // A tensor with other strides is copied before the run (stride_copies in Report::counters)
  // instead of refused. Error (user): the input is updated, too, and the update would be lost.
  bool copy_strides = false;
  // The caller gives the same memory in each run, which spares looking at it again. One that lies
  // elsewhere is taken all the same, and counted (rebinds).
  bool is_static = false;
  // The function may assign() the input: the run writes the caller's tensor, at its end and only if
  // nothing fails. Errors (user): strides by which two elements lie in one place; a run is given a
  // const tensor, or one whose memory overlaps that of another input, of a Variable, or results.
  bool is_updated = false;
};

}  // namespace cleave
