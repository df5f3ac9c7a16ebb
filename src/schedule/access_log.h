// Records which elements of its buffers a kernel reads and writes as its loops are written, in
// order to tell which results may share the storage of an operand.
//
//   y[p,j] = exp(x[p,j])                           y may be written over x
//   y[p,j] = x[p,j] + x[p,0]                       not: x[p,0] is read after y[p,0] is written
//   pass 0: y[p,j] = x[p,j]; pass 1: s += x[p,j]   not: read in a later pass over the row
#pragma once
#include <vector>

#include "loop/kernel.h"
#include "schedule/group_kernel.h"

namespace cleave {

class AccessLog {
 public:
  // Sets the current element by its row-major number in normal form; reads and writes at exactly
  // this address count as accesses to the element.
  void set_element(loop::Expr number, size_t pass) {
    element_ = std::move(number);
    pass_ = pass;
  }
  void read(int64_t buffer, const loop::Expr& address) {
    reads_.push_back({buffer, pass_, is_of_element(address)});
  }
  // is_last: the pass doesn't read the element afterwards.
  void write(int64_t buffer, const loop::Expr& address, bool is_last) {
    writes_.push_back({buffer, pass_, is_last && is_of_element(address)});
  }
  // Pairs of an operand and a result of one element size, where the operand is read only at the
  // current element, in no later pass than the result's first write, and the result is written only
  // there.
  std::vector<GroupCode::InPlace> in_place(const loop::Kernel& kernel) const;

 private:
  struct Access {
    int64_t buffer;
    size_t pass;
    bool of_element;
  };
  bool is_of_element(const loop::Expr& address) const {
    return element_.defined() && &*address == &*element_;
  }

  std::vector<Access> reads_, writes_;
  loop::Expr element_;
  size_t pass_ = 0;
};

}  // namespace cleave
