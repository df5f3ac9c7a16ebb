#include "simt/drop_unread.h"

#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"

namespace cleave::simt {
namespace {

class Dropper {
 public:
  // From the last statement on, so that what is read is known. A variable that two branches define
  // is one.
  void block(Block& b) {
    for (size_t k = b.size(); k-- > 0;) {
      auto* let = std::get_if<Let>(&b[k].node);
      if (let && !let->value->reads_memory && !read_.contains(let->var->id())) {
        b.erase(b.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      std::visit([&](auto& n) { statement(n); }, b[k].node);
    }
  }

 private:
  void reads(const Expr& e) {
    loop::for_each_part(e, [&](const Expr& part) {
      if (part->op == loop::Op::var) read_.insert(part->id());
    });
  }
  void statement(For& s) {
    block(s.body);
    reads(s.begin), reads(s.end);
  }
  void statement(If& s) {
    block(s.then), block(s.otherwise);
    reads(s.condition);
  }
  void statement(Let& s) { reads(s.value); }
  void statement(Define& s) { reads(s.value); }
  void statement(Assign& s) { reads(s.var), reads(s.value); }
  void statement(Store& s) { reads(s.index), reads(s.value); }
  void statement(Check& s) { reads(s.condition), reads(s.value), reads(s.bound); }
  void statement(Barrier&) {}
  void statement(Exchange& s) { reads(s.value); }
  void statement(CopyIn& s) { reads(s.index); }
  void statement(CopyOut& s) { reads(s.index); }
  void statement(CopyAhead& s) { reads(s.at), reads(s.index); }
  void statement(CopyWait&) {}

  std::unordered_set<int64_t> read_;
};

}  // namespace

void drop_unread(Block& body) { Dropper().block(body); }

}  // namespace cleave::simt
