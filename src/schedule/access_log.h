// Records which elements of its buffers a kernel reads and writes as its loops are written, in
// order to tell which results may share the storage of an operand.
//
//   y[p,j] = exp(x[p,j])                           y may be written over x
//   y[p,j + 8] = exp(x[p,j + 8])                   so it may: rows of both, behind others
//   y[p,j] = x[p,j] + x[p,0]                       not: x[p,0] is read after y[p,0] is written
//   pass 0: y[p,j] = x[p,j]; pass 1: s += x[p,j]   not: read in a later pass over the row
#pragma once
#include <optional>
#include <vector>

#include "loop/kernel.h"
#include "schedule/group_kernel.h"

namespace cleave {

class AccessLog {
 public:
  // Sets the current element by its row-major number in normal form; reads and writes at this
  // address, or all of a buffer so far behind it, count as accesses to the element.
  void set_element(loop::Expr number, size_t pass) {
    element_ = std::move(number);
    pass_ = pass;
  }
  // What is accessed from here on belongs to no element, so that it is never in place.
  void set_no_element(size_t pass) { set_element({}, pass); }
  void read(int64_t buffer, const loop::Expr& address) {
    reads_.push_back({buffer, pass_, shift_of(address)});
  }
  // is_last: the pass doesn't read the element afterwards.
  void write(int64_t buffer, const loop::Expr& address, bool is_last) {
    writes_.push_back({buffer, pass_, is_last ? shift_of(address) : std::nullopt});
  }
  // Pairs of an operand and a result of one element size, where the operand is read only at the
  // current element, in no later pass than the result's first write, and the result is written only
  // there.
  std::vector<GroupCode::InPlace> in_place(const loop::Kernel& kernel) const;

 private:
  struct Access {
    int64_t buffer;
    size_t pass;
    std::optional<int64_t> shift;  // from the current element; none: it is another
  };
  std::optional<int64_t> shift_of(const loop::Expr& address) const {
    if (!element_.defined()) return std::nullopt;
    if (address == element_) return 0;
    const bool is_behind = address->op == loop::Op::add && address->args[0] == element_;
    const int64_t* shift = is_behind ? address->args[1].as_const_int() : nullptr;
    return shift ? std::optional(*shift) : std::nullopt;
  }

  std::vector<Access> reads_, writes_;
  loop::Expr element_;
  size_t pass_ = 0;
};

}  // namespace cleave
