#include "schedule/empty_loads.h"

#include <algorithm>

#include "loop/replace.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

class Dropper {
 public:
  explicit Dropper(const Kernel& k) : kernel_(k) {}

  void block(Block& b) {
    for (Stmt& s : b) std::visit([&](auto& n) { statement(n); }, s.node);
  }

 private:
  void drop(Expr& e) {
    if (!e.defined() || !e->reads_memory) return;
    e = replaced(e, [&](const Expr& part) {
      const bool is_empty = part->op == Op::load &&
                            kernel_.buffers[static_cast<size_t>(part->buffer())].elements == 0;
      return !is_empty                  ? Expr()
             : is_floating(part.type()) ? constant(part.type(), 0)
                                        : constant_int(part.type(), 0);
    });
  }
  void statement(For& f) { drop(f.loop.extent), block(f.body); }
  void statement(Let& s) { drop(s.value); }
  void statement(Define& s) { drop(s.value); }
  void statement(Assign& s) { drop(s.value); }
  void statement(Store& s) { drop(s.index), drop(s.value); }
  void statement(If& s) { drop(s.condition), block(s.then); }
  void statement(Check& s) { drop(s.condition), drop(s.value), drop(s.bound); }
  void statement(Reduce& r) {
    for (Loop& l : r.loops) drop(l.extent);
    block(r.body);
    for (Fold& f : r.folds) drop(f.value);
  }

  const Kernel& kernel_;
};

}  // namespace

void drop_empty_loads(Kernel& kernel) {
  if (std::ranges::any_of(kernel.buffers, [](const Buffer& b) { return b.elements == 0; }))
    Dropper(kernel).block(kernel.body);
}

}  // namespace cleave::schedule
