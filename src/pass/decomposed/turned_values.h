// The values of a graph that are held with their channels last, while channels_last rewrites it.
//
//   %x [n,c,*size]   held as   %x.last [n,*size,c]
//
// What isn't held so is read through a view of it; library calls, which take dense operands alone,
// read a copy, made once. A dim of size 1 takes no place: [n,c,1,1] lies as [n,1,1,c].
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "ir/builder.h"

namespace cleave {

// Orders of permute, [n,c,*size] to [n,*size,c] and back.
std::vector<int64_t> to_channels_last(int64_t rank);
std::vector<int64_t> to_channels_first(int64_t rank);
// The dim d of [n,c,*size], counted from the front, within [n,*size,c].
int64_t channels_last_dim(int64_t d, int64_t rank);
template <class List>
List with_channels_last(const List& of) {  // by dim
  List out;
  for (const int64_t d : to_channels_last(std::ssize(of)))
    out.push_back(of[static_cast<size_t>(d)]);
  return out;
}

// Whether a value may be held so: it is static, has elements, and 3 to 5 dims.
bool is_image(const Graph& g, ValueId v);

class TurnedValues {
 public:
  explicit TurnedValues(Builder& b) : b_(b) {}

  // An image with its channels last: the value that holds it, or a view.
  ValueId last(ValueId v);
  // The same without gaps.
  ValueId dense(ValueId v);
  // A weight [a,b,*kernel] as [a,*kernel,b], without gaps: what converts it writes that order.
  ValueId weight(ValueId v);
  // A value with `rank` dims, of which it may lack leading ones, with its channels last.
  ValueId broadcast(ValueId v, int64_t rank);

  // Replaces result k of a call by `last`, seen with its channels second.
  ValueId put(ValueId v, ValueId last);

 private:
  // permute, through permutes before it.
  ValueId permuted(ValueId v, std::vector<int64_t> order);
  ValueId copied(ValueId v, const std::vector<int64_t>& order);

  Builder& b_;
  std::unordered_map<uint32_t, ValueId> last_, weights_;
  std::unordered_set<uint32_t> views_;  // of last_: in the order of another value
};

}  // namespace cleave
