#include "simt/split_parts.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "loop/replace.h"

namespace cleave::simt {

using loop::Expr;
using loop::Let;
using loop::Op;
using loop::Store;

namespace {

// What the statements use, and which stores belong together.
class Parts {
 public:
  Parts(const loop::Block& body, const std::vector<loop::Buffer>& buffers,
        const BufferPairs& shared)
      : body_(body), buffers_(buffers), uses_(body.size()), part_(body.size()),
        memory_(buffers.size()) {
    std::iota(part_.begin(), part_.end(), size_t{0});
    std::iota(memory_.begin(), memory_.end(), size_t{0});
    for (const auto& [a, b] : shared) {
      const size_t from = memory_[b], to = memory_[a];
      std::ranges::replace(memory_, from, to);
    }
  }

  // False: there are statements that no part can be made of.
  bool find() {
    for (size_t s = 0; s < body_.size(); ++s) {
      if (auto* l = std::get_if<Let>(&body_[s].node)) {
        read(s, l->value);
        lets_[l->var->id()] = s;
      } else if (auto* w = std::get_if<Store>(&body_[s].node)) {
        read(s, w->index), read(s, w->value), access(s, w->buffer);
        const std::vector<size_t> all = with_lets(s);
        for (const size_t used : all)
          for (const size_t m : uses_[used].memory) together(s, m);
        stores_.push_back(s);
      } else {
        return false;
      }
    }
    return true;
  }

  // The statements of each part, in order.
  std::vector<std::vector<size_t>> statements() {
    std::vector<std::vector<size_t>> out;
    std::unordered_map<size_t, size_t> number;  // of a part, by its root
    for (const size_t s : stores_) {
      const auto [at, is_new] = number.try_emplace(root(s), out.size());
      if (is_new) out.emplace_back();
      for (const size_t used : with_lets(s)) out[at->second].push_back(used);
    }
    for (auto& part : out) {
      std::ranges::sort(part);
      const auto rest = std::ranges::unique(part);
      part.erase(rest.begin(), rest.end());
    }
    return out;
  }

 private:
  struct Uses {
    std::vector<size_t> lets;
    std::vector<size_t> memory;  // but numbers that nothing writes
  };

  void access(size_t s, int64_t buffer) {
    const auto at = static_cast<size_t>(buffer);
    const bool is_alone = std::ranges::count(memory_, memory_[at]) == 1;
    if (is_alone && buffers_[at].elements <= 1 && buffers_[at].access == loop::Access::read) return;
    uses_[s].memory.push_back(memory_[at]);
  }
  void read(size_t s, const Expr& e) {
    loop::for_each_part(e, [&](const Expr& part) {
      if (part->op == Op::load) access(s, part->buffer());
      if (part->op != Op::var) return;
      if (const auto let = lets_.find(part->id()); let != lets_.end())
        uses_[s].lets.push_back(let->second);
    });
  }
  std::vector<size_t> with_lets(size_t s) const {
    std::vector<size_t> out{s};
    std::vector<bool> seen(body_.size());
    for (size_t k = 0; k < out.size(); ++k)
      for (const size_t let : uses_[out[k]].lets)
        if (!seen[let]) seen[let] = true, out.push_back(let);
    return out;
  }
  void together(size_t s, size_t memory) {
    const auto [first, is_new] = first_use_.try_emplace(memory, s);
    if (!is_new) part_[root(s)] = root(first->second);
  }
  size_t root(size_t s) const {
    while (part_[s] != s) s = part_[s];
    return s;
  }

  const loop::Block& body_;
  const std::vector<loop::Buffer>& buffers_;
  std::vector<Uses> uses_;                        // by statement
  std::vector<size_t> part_;                      // of stores: another one of it, or itself
  std::vector<size_t> memory_;                    // by buffer: the first that may lie there
  std::unordered_map<int64_t, size_t> lets_;      // by variable
  std::unordered_map<size_t, size_t> first_use_;  // store, by memory
  std::vector<size_t> stores_;
};

}  // namespace

std::vector<loop::For> split_parts(const loop::For& loop, const std::vector<loop::Buffer>& buffers,
                                   const BufferPairs& shared) {
  const int64_t* n = loop.loop.extent.as_const_int();
  if (n && *n <= 1) return {loop};
  Parts parts(loop.body, buffers, shared);
  if (!parts.find()) return {loop};
  const auto statements = parts.statements();
  if (statements.size() < 2) return {loop};
  std::vector<loop::For> out;
  for (const std::vector<size_t>& part : statements) {
    loop::For made = loop;
    made.body.clear();
    made.rows.shared = 0;
    for (const size_t s : part) {
      made.body.push_back(loop.body[s]);
      made.rows.shared += s < loop.rows.shared;
    }
    if (part[0] != 0) made.rows = {};  // without the number of its row
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace cleave::simt
