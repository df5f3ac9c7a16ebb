#include "op/order_kernel.h"

#include <bit>

#include "ir/array.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using loop::Op;

// An element and its original position; `at` is undefined if slots are elements.
struct Item {
  Expr value, at;
};

Expr both(const Expr& a, const Expr& b) { return binary(Op::logical_and, a, b); }
Expr either(const Expr& a, const Expr& b) { return binary(Op::logical_or, a, b); }
Expr no(const Expr& a) { return unary(Op::logical_not, a); }

class OrderedLine {
 public:
  OrderedLine(KernelBuilder& k, Exprs kept, int64_t dim, Order order)
      : k_(k), kept_(std::move(kept)), dim_(static_cast<size_t>(dim)), order_(order),
        by_index_(k.wanted(1)) {}

  void run(int64_t length, int64_t count) {
    k_.loop(Expr(count), [&](const Expr& j) { put(j, element(j)); });
    const int64_t depth = std::bit_width(static_cast<uint64_t>(count));
    const auto sift = [&](const Expr& root, const Expr& size) { sink(root, size, depth); };
    if (count > 1)
      k_.loop(Expr(count / 2),
              [&](const Expr& r) { sift(k_.let(Expr(count / 2 - 1) - r, "root"), Expr(count)); });
    if (length > count)
      k_.loop(Expr(length - count), [&](const Expr& r) {
        const Item next = element(k_.let(Expr(count) + r, "j")), top = get(Expr(0));
        k_.if_(comes_before(next, top), [&] {
          put(Expr(0), next);
          sift(Expr(0), Expr(count));
        });
      });
    k_.loop(Expr(count - 1), [&](const Expr& r) {
      const Expr last = k_.let(Expr(count - 1) - r, "last");
      const Item top = get(Expr(0)), end = get(last);
      put(Expr(0), end);
      put(last, top);
      sift(Expr(0), last);
    });
    if (by_index_ && k_.wanted(0))
      k_.loop(Expr(count), [&](const Expr& j) { k_.store(0, at(j), get(j).value); });
  }

 private:
  Exprs at(const Expr& j) const {
    Exprs index = kept_;
    if (!index.empty()) index[dim_] = j;
    return index;
  }
  Expr comparable(const Expr& x) const {
    return x.type() == DType::boolean ? cast(x, DType::i32) : x;
  }
  Item element(const Expr& j) { return {k_.let(k_.load(0, at(j)), "x"), by_index_ ? j : Expr()}; }
  Item get(const Expr& slot) {
    if (!by_index_) return {k_.let(k_.load_result(0, at(slot)), "x"), Expr()};
    const Expr j = k_.let(k_.load_result(1, at(slot)), "j");
    return {k_.let(k_.load(0, at(j)), "x"), j};
  }
  void put(const Expr& slot, const Item& item) {
    if (by_index_)
      k_.store(1, at(slot), item.at);
    else
      k_.store(0, at(slot), item.value);
  }

  Expr less(const Expr& a, const Expr& b) const {
    const bool up = order_ == Order::ascending;
    const Expr by_value = binary(up ? Op::lt : Op::gt, a, b);
    if (!is_floating(a.type())) return by_value;
    const Expr nan_a = unary(Op::isnan, a), nan_b = unary(Op::isnan, b);
    return either(by_value, up ? both(nan_b, no(nan_a)) : both(nan_a, no(nan_b)));
  }
  Expr comes_before(const Item& a, const Item& b) const {
    const Expr x = comparable(a.value), y = comparable(b.value), less_xy = less(x, y);
    if (!by_index_) return less_xy;
    return either(less_xy, both(no(less(y, x)), binary(Op::lt, a.at, b.at)));
  }

  // Moves the item at `root` down the heap of `size` slots until no child comes after it.
  void sink(const Expr& root, const Expr& size, int64_t depth) {
    const Item item = get(root);
    const Expr hole = k_.define(root, "hole");
    const Expr open = k_.define(loop::constant_int(DType::boolean, 1), "open");
    k_.loop(Expr(depth), [&](const Expr&) {
      const Expr left = k_.let(hole * Expr(2) + Expr(1), "left");
      k_.if_(both(open, binary(Op::lt, left, size)), [&] {
        const Expr right = k_.let(binary(Op::min, left + Expr(1), size - Expr(1)), "right");
        const Item a = get(left), b = get(right);
        const Expr later = k_.let(comes_before(a, b), "later");
        Item child{k_.let(select(later, b.value, a.value), "child"), Expr()};
        if (by_index_) child.at = k_.let(select(later, b.at, a.at), "child_at");
        k_.assign(open, comes_before(item, child));
        k_.if_(open, [&] {
          put(hole, child);
          k_.assign(hole, select(later, right, left));
        });
      });
    });
    put(hole, item);
  }

  KernelBuilder& k_;
  Exprs kept_;
  size_t dim_;
  Order order_;
  bool by_index_;
};

}  // namespace

void lower_ordered(KernelBuilder& k, int64_t dim, Order order) {
  const std::vector<int64_t>& shape = k.operand(0).layout.shape;
  std::vector<int64_t> kept = shape;
  const std::vector<int64_t>& wanted = k.result(k.wanted(0) ? 0 : 1).layout.shape;
  if (numel_of(wanted) == 0) return;
  const int64_t length = shape.empty() ? 1 : shape[dim];
  const int64_t count = shape.empty() ? 1 : wanted[dim];
  if (!kept.empty()) kept[dim] = 1;
  k.parallel(kept, [&](const Exprs& i) { OrderedLine(k, i, dim, order).run(length, count); });
}

}  // namespace cleave
