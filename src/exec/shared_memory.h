// Whether tensors of a run share memory where one of them is written.
//
//   a  [0 . 2 . 4 .]     interleaved: no byte of both        a  [0 1 2 3]
//   b  [. 1 . 3 . 5]                                         b      [2 3 4 5]   both
//
// Sorted by address, each is compared with those that are still open where it begins: O(n log n)
// for n tensors, and a comparison of elements for each pair whose ranges meet.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "cleave/host_tensor.h"

namespace cleave {

// Whether some byte belongs to elements of both. Also true if the search takes more than 20,000
// steps, as for many dims with interleaved strides.
bool share_memory(const HostTensor& a, const HostTensor& b);

class SharedMemory {
 public:
  struct Operand {
    const HostTensor* tensor = nullptr;
    size_t number = 0;  // what the caller knows it by
    bool is_written = false;
  };
  using Pair = std::pair<Operand, Operand>;
  void reserve(size_t operands);
  void clear() { operands_.clear(); }
  void add(const Operand& operand);
  // A pair that shares memory, the one that is written first; allocates nothing.
  std::optional<Pair> find();

 private:
  static std::optional<Pair> meets(const Operand& operand, std::vector<Operand>& open);
  std::vector<Operand> operands_, written_, all_;
};

}  // namespace cleave
