#include "simt/read_ahead.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loop/replace.h"

namespace cleave::simt {

using loop::Op;

namespace {

constexpr int64_t large_bytes = 1 << 20;  // of a buffer
constexpr int64_t most_bytes = 128;       // of a thread's registers, for what is read ahead

// What statements do, those within loops and branches too.
struct Effects {
  std::unordered_set<int64_t> accessed, written;  // buffers
  std::unordered_set<int64_t> assigned;           // variables
  bool has_check = false, waits = false;

  void block(const Block& b) {
    for (const Stmt& s : b) stmt(s);
  }
  void stmt(const Stmt& s) {
    std::visit([&](const auto& n) { of(n); }, s.node);
  }

 private:
  void values(const Expr& e) {
    loop::for_each_part(e, [&](const Expr& part) {
      if (part->op == Op::load) accessed.insert(part->buffer());
    });
  }
  void write(int64_t buffer) { accessed.insert(buffer), written.insert(buffer); }
  void of(const For& f) { values(f.begin), values(f.end), block(f.body); }
  void of(const If& i) { values(i.condition), block(i.then), block(i.otherwise); }
  void of(const Let& s) { values(s.value); }
  void of(const Define& s) { values(s.value); }
  void of(const Assign& s) { values(s.value), assigned.insert(s.var->id()); }
  void of(const Store& s) { values(s.index), values(s.value), write(s.buffer); }
  void of(const Check& c) {
    values(c.condition), values(c.value), values(c.bound);
    has_check = true;
  }
  void of(const Barrier&) {}
  void of(const Exchange& s) { values(s.value), waits = true; }
  void of(const CopyIn& s) { values(s.index), accessed.insert(s.from), write(s.to); }
  void of(const CopyOut& s) { values(s.index), accessed.insert(s.from), write(s.to); }
  void of(const CopyAhead& s) {
    values(s.at), values(s.index), accessed.insert(s.from), write(s.to);
  }
  void of(const CopyWait&) {}
};

class Mover {
 public:
  Mover(const std::vector<Buffer>& buffers, Effects all)
      : buffers_(buffers), all_(std::move(all)) {}

  void loops_in(Block& b) {
    for (Stmt& s : b) {
      if (auto* i = std::get_if<If>(&s.node)) loops_in(i->then), loops_in(i->otherwise);
      auto* f = std::get_if<For>(&s.node);
      if (!f) continue;
      loops_in(f->body);
      iteration(f->body);
    }
  }

 private:
  bool is_global(int64_t buffer) const {
    return buffers_[static_cast<size_t>(buffer)].space == Space::global;
  }

  void iteration(Block& b) const {
    const auto is_copy = [](const Stmt& s) { return std::holds_alternative<CopyIn>(s.node); };
    const auto first = static_cast<size_t>(std::ranges::find_if(b, is_copy) - b.begin());
    int64_t bytes = 0;
    Effects before;  // of the statements from the first read on that stay behind what is moved
    size_t to = first;
    for (size_t i = first; i < b.size(); ++i) {
      std::vector<size_t> lets;
      if (before.waits && may_move(b, to, i, before, lets)) {
        const auto& copy = std::get<CopyIn>(b[i].node);
        bytes += copy.count * size_of(buffers_[static_cast<size_t>(copy.to)].dtype);
        if (bytes > most_bytes) return;
        for (const size_t k : lets) move(b, k, to++);
        move(b, i, to++);
        continue;
      }
      before.stmt(b[i]);
    }
  }

  // Whether statement i may stand in front of statement `to`; with it the definitions of what its
  // index is computed of, in their order.
  bool may_move(const Block& b, size_t to, size_t i, const Effects& before,
                std::vector<size_t>& lets) const {
    auto* copy = std::get_if<CopyIn>(&b[i].node);
    if (!copy || before.has_check || !is_global(copy->from) || all_.written.contains(copy->from) ||
        before.accessed.contains(copy->to) ||
        std::ranges::any_of(before.written, [&](int64_t w) { return is_global(w); }))
      return false;
    const Buffer& from = buffers_[static_cast<size_t>(copy->from)];
    return from.elements * size_of(from.dtype) >= large_bytes &&
           find_lets(b, to, i, copy->index, before, lets);
  }

  // The variables of `e` that statements [to, end) define: all of them must be such that they may
  // be defined earlier, and none is assigned by the statements `before`.
  bool find_lets(const Block& b, size_t to, size_t end, const Expr& e, const Effects& before,
                 std::vector<size_t>& lets) const {
    if (e->reads_memory) return false;
    std::unordered_set<int64_t> needed;
    const auto need = [&](const Expr& of) {
      loop::for_each_part(of, [&](const Expr& part) {
        if (part->op == Op::var) needed.insert(part->id());
      });
    };
    need(e);
    for (size_t k = end; k-- > to;) {
      if (auto* let = std::get_if<Let>(&b[k].node); let && needed.contains(let->var->id())) {
        if (let->value->reads_memory) return false;
        need(let->value);
        lets.insert(lets.begin(), k);
      } else if (auto* d = std::get_if<Define>(&b[k].node); d && needed.contains(d->var->id())) {
        return false;
      } else if (auto* x = std::get_if<Exchange>(&b[k].node); x && needed.contains(x->var->id())) {
        return false;
      }
    }
    return std::ranges::none_of(needed, [&](int64_t v) { return before.assigned.contains(v); });
  }

  static void move(Block& b, size_t from, size_t to) {
    const auto at = [&](size_t k) { return b.begin() + static_cast<std::ptrdiff_t>(k); };
    std::rotate(at(to), at(from), at(from + 1));
  }

  const std::vector<Buffer>& buffers_;
  const Effects all_;  // of the phase
};

}  // namespace

void read_ahead(Block& body, const std::vector<Buffer>& buffers) {
  Effects all;
  all.block(body);
  Mover(buffers, std::move(all)).loops_in(body);
}

}  // namespace cleave::simt
