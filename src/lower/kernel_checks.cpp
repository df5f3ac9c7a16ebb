#include "lower/kernel_checks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace cleave {

using namespace cleave::loop;

namespace {

class CheckReader {
 public:
  explicit CheckReader(const Kernel& k) : k_(k) {}

  KernelChecks run() {
    out_.only_ranges = true;
    for (const Stmt& s : k_.body) {
      ++statement_;
      stmt(s);
    }
    out_.any = last_check_ > 0;
    out_.come_first = out_.any && (first_store_ == 0 || last_check_ < first_store_);
    return std::move(out_);
  }

 private:
  void block(const Block& b) {
    block_ = &b;
    for (const Stmt& s : b) {
      stmt(s);
      block_ = &b;
    }
  }
  void loops(std::vector<Loop> loops, const Block& body) {
    for (const Loop& l : loops) extents_[l.var->id()] = l.extent;
    const bool outer = runs_;
    for (const Loop& l : loops) {
      const int64_t* n = l.extent.as_const_int();
      runs_ &= n && *n > 0;
    }
    block(body);
    runs_ = outer;
  }
  void stmt(const Stmt& s) {
    if (auto* f = std::get_if<For>(&s.node)) loops({f->loop}, f->body);
    if (auto* r = std::get_if<Reduce>(&s.node)) loops(r->loops, r->body);
    if (auto* l = std::get_if<Let>(&s.node)) lets_[l->var->id()] = l->value;
    if (auto* i = std::get_if<If>(&s.node)) {
      const bool outer = std::exchange(runs_, false);
      block(i->then);
      runs_ = outer;
    }
    if (auto* st = std::get_if<Store>(&s.node)) {
      if (k_.buffers[static_cast<size_t>(st->buffer)].access != Access::local && !first_store_)
        first_store_ = statement_;
      add_clamped(*st);
    }
    if (auto* c = std::get_if<Check>(&s.node)) check(*c);
  }

  void check(const Check& c) {
    last_check_ = statement_;
    const std::optional<Expr> read = loaded(c.value);
    const int64_t* bound = c.bound.defined() ? c.bound.as_const_int() : nullptr;
    if (!bound || *bound < 0 || !read) {
      out_.only_ranges = false;
    } else {
      const IndexRange range{static_cast<size_t>((*read)->buffer()), *bound, c.from_zero};
      out_.needed.push_back(range);
      if (covers((*read)->args[0], range.buffer)) out_.proven.push_back(range);
    }
    if (!bound || *bound < 0 || !block_) return;
    for (const Stmt& s : *block_) {
      auto* store = std::get_if<Store>(&s.node);
      if (!store || !same_variable(store->value, c.value)) continue;
      const IndexRange range{static_cast<size_t>(store->buffer), *bound, c.from_zero};
      if (covers(store->index, range.buffer)) out_.proven.push_back(range);
    }
  }

  // min(max(x, lo), hi) with constants, stored in all elements of a buffer.
  void add_clamped(const Store& store) {
    const Expr x = defined(store.value);
    if (x->op != Op::min || is_floating(x.type())) return;
    const Expr inner = defined(x->args[0]);
    const int64_t* hi = x->args[1].as_const_int();
    if (!hi || *hi < 0 || *hi == std::numeric_limits<int64_t>::max() || inner->op != Op::max)
      return;
    const int64_t* lo = inner->args[1].as_const_int();
    if (!lo || *lo < 0 || *lo > *hi) return;
    const IndexRange range{static_cast<size_t>(store.buffer), *hi + 1, true};
    if (covers(store.index, range.buffer)) out_.proven.push_back(range);
  }
  Expr defined(const Expr& e) const {
    const auto it = e->op == Op::var ? lets_.find(e->id()) : lets_.end();
    return it == lets_.end() ? e : it->second;
  }

  // Without a cast from i32 to an integer.
  static const Expr& uncast(const Expr& e) {
    const bool is_index = e->op == Op::cast && (e.type() == DType::i64 || e.type() == DType::i32) &&
                          e->args[0].type() == DType::i32;
    return is_index ? e->args[0] : e;
  }
  std::optional<Expr> loaded(const Expr& e) const {
    const Expr& x = uncast(e);
    if (x->op == Op::load) return x;
    if (x->op != Op::var) return std::nullopt;
    const auto it = lets_.find(x->id());
    return it == lets_.end() ? std::nullopt : loaded(it->second);
  }
  static bool same_variable(const Expr& a, const Expr& b) {
    const Expr &x = uncast(a), &y = uncast(b);
    return x->op == Op::var && y->op == Op::var && x->id() == y->id();
  }

  // Whether the index takes every value in [0, elements of the buffer) in loops that all run.
  bool covers(const Expr& index, size_t buffer) const {
    const Buffer& b = k_.buffers[buffer];
    if (!runs_ || b.access == Access::local) return false;
    const std::optional<int64_t> n = span(index);
    return n && *n >= b.elements;
  }
  // n: it takes every value in [0, n).
  std::optional<int64_t> span(const Expr& e) const {
    if (e->op == Op::truncmod) {
      const int64_t* m = e->args[1].as_const_int();
      const auto n = span(e->args[0]);
      return m && n && *m > 0 && *n >= *m ? std::optional(*m) : std::nullopt;
    }
    std::map<int64_t, int64_t> terms;  // by factor: extent
    if (!add_terms(e, 1, terms)) return std::nullopt;
    int64_t n = 1;
    for (const auto& [factor, extent] : terms) {
      if (factor > n || factor <= 0) return std::nullopt;
      int64_t last = 0;
      if (__builtin_mul_overflow(factor, extent - 1, &last) || __builtin_add_overflow(n, last, &n))
        return std::nullopt;
    }
    return n;
  }
  // Splits a sum of variables with factors; the factors must differ.
  bool add_terms(const Expr& e, int64_t factor, std::map<int64_t, int64_t>& terms) const {
    if (const int64_t* c = e.as_const_int()) return *c == 0;
    if (e->op == Op::add)
      return add_terms(e->args[0], factor, terms) && add_terms(e->args[1], factor, terms);
    if (e->op == Op::mul) {
      const int64_t* c = e->args[1].as_const_int();
      return c && !__builtin_mul_overflow(factor, *c, &factor) &&
             add_terms(e->args[0], factor, terms);
    }
    if (e->op != Op::var) return false;
    const auto it = extents_.find(e->id());
    const int64_t* n = it == extents_.end() ? nullptr : it->second.as_const_int();
    return n && terms.emplace(factor, *n).second;
  }

  const Kernel& k_;
  KernelChecks out_;
  std::map<int64_t, Expr> lets_, extents_;  // by variable
  const Block* block_ = nullptr;
  bool runs_ = true;
  size_t statement_ = 0, last_check_ = 0, first_store_ = 0;  // outermost statements, from 1
};

}  // namespace

KernelChecks checks_of(const Kernel& kernel) { return CheckReader(kernel).run(); }

}  // namespace cleave
