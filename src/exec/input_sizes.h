// The inputs that a program was declared with, and the sizes that a run gives to their dims.
//
//   {"x", f32, {dyn("B", 1, 64), 2}}, {"y", f32, {dyn("B", 1, 64)}}     one size: B
//   read(x: f32[7,2], y: f32[7])     {7}
//   at({7})                          {"x", f32, {7, 2}}, {"y", f32, {7}}
//
// Where no dim varies there are no sizes, and read() compares types alone. With OtherSizes::grow
// each dim that is a number is a size of its own, without bounds: "x.0" is dim 0 of input `x`.
// These are in no text while they are the numbers.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cleave/train.h"

namespace cleave {

class InputSizes {
 public:
  // `what` names the program in errors. Errors (user): a number below 0, bounds that are none, a
  // name with other bounds elsewhere.
  static Result<InputSizes> make(std::string what, std::vector<InputSpec> specs,
                                 OtherSizes other = OtherSizes::refuse);

  const std::string& what() const { return what_; }
  const std::vector<InputSpec>& specs() const { return specs_; }
  bool vary() const { return !sizes_.empty(); }
  // The sizes to begin with: the largest, the numbers of those without bounds.
  std::vector<int64_t> largest() const;
  // The lower bounds, and these numbers.
  std::vector<int64_t> least() const;
  // Each size that varies, in this order.
  struct Range {
    std::string name;
    int64_t least = 0;
    std::optional<int64_t> most;  // nothing: it has no bounds, and is the number `least` otherwise
  };
  std::vector<Range> ranges() const;
  // The largest, where there is no hint; nothing: there is none at all.
  std::optional<std::vector<int64_t>> hints() const;
  // The static specs for these sizes.
  std::vector<InputSpec> at(const std::vector<int64_t>& sizes) const;
  // "B=7,T=3".
  std::string text(const std::vector<int64_t>& sizes) const;

  // Writes the sizes of these inputs, in the order of the specs, to `sizes`; allocates nothing if
  // it has room. Errors (user): another number of inputs, another dtype or rank, other sizes than
  // the numbers, other strides without copy_strides, an address that doesn't suit the elements, a
  // const tensor for an input that is updated, a size that is out of bounds, two sizes for a name.
  Status read(std::span<const InputRef> inputs, std::vector<int64_t>& sizes) const;
  // The same inputs in the order of the specs. Errors (user): a name that is unknown, missing or
  // twice there.
  Result<std::vector<InputRef>> in_order(std::span<const NamedInput> inputs) const;

 private:
  struct Place {
    size_t input = 0, dim = 0;
  };
  struct Size {
    DynamicSize bounds;
    std::vector<Place> places;
    bool is_number = false;  // of the specs: it is `least`, and has no bounds
    bool allows(int64_t size) const {
      return is_number || (bounds.least <= size && size <= bounds.most);
    }
  };
  Status add(Place place);
  Status check_memory(size_t k) const;
  Status read_input(const InputRef& input, size_t k) const;
  Status read_size(const Size& size, std::span<const InputRef> inputs) const;
  std::string place_text(Place place) const;

  std::string what_;
  OtherSizes other_ = OtherSizes::refuse;
  std::vector<InputSpec> specs_;
  std::vector<Size> sizes_;
};

// "f32[B,2]", with strides if they are given.
std::string spec_text(const InputSpec& spec);
// Whether the tensor lies by the strides of its spec, dims of size 1 aside; allocates nothing.
bool has_strides_of(const HostTensor& input, const InputSpec& spec);

}  // namespace cleave
