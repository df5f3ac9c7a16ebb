#include "plan/offsets_join.h"

#include <algorithm>
#include <numeric>

namespace cleave::plan {
namespace {

// Of what ends or begins at a border; more are not looked at.
constexpr size_t most_at_border = 10;

struct Block {
  int32_t first, last;
  int64_t size;
  std::vector<JoinedProblem::Part> parts;  // empty: part of another block now
};

class Joiner {
 public:
  Joiner(const OffsetProblem& p, int64_t capacity)
      : p_(p), capacity_(capacity), begins_(p.total.size() + 1), ends_(p.total.size() + 1) {
    for (uint32_t i = 0; i < p.size(); ++i) {
      const OffsetProblem::Buffer& b = p.buffers[i];
      blocks_.push_back({b.first, b.last, b.size, {{i, 0}}});
      begins_[at(b.first)].push_back(i);
      ends_[at(b.last)].push_back(i);
    }
  }
  std::vector<Block> run() {
    queued_.assign(begins_.size(), false);
    for (int32_t s = p_.sections(); s-- > 1;) queue(s);
    while (!queue_.empty()) {
      const int32_t s = queue_.back();
      queue_.pop_back();
      queued_[at(s)] = false;
      settle(s);
    }
    return std::move(blocks_);
  }

 private:
  using List = std::vector<uint32_t>;  // of blocks
  static size_t at(int32_t section) { return static_cast<size_t>(section); }

  void queue(int32_t s) {
    if (s < 1 || s >= p_.sections() || queued_[at(s)]) return;
    if (p_.total[at(s) - 1] != capacity_ || p_.total[at(s)] != capacity_) return;
    queued_[at(s)] = true;
    queue_.push_back(s);
  }
  void settle(int32_t s) {
    List &ends = ends_[at(s)], &begins = begins_[at(s)];
    if (ends.empty() || !is_one_block(ends, begins)) return;
    const auto same = [&](const List& list, int32_t Block::* side) {
      return std::all_of(list.begin(), list.end(),
                         [&](uint32_t i) { return blocks_[i].*side == blocks_[list[0]].*side; });
    };
    if (ends.size() > 1 && same(ends, &Block::first)) {
      const int32_t other = blocks_[ends[0]].first;
      stack(ends, begins_[at(other)]);
      queue(other);
    }
    if (begins.size() > 1 && same(begins, &Block::last)) {
      const int32_t other = blocks_[begins[0]].last;
      stack(begins, ends_[at(other)]);
      queue(other);
    }
    if (ends.size() == 1 && begins.size() == 1) chain(s);
  }

  // No part of `a` but all is as large as a part of `b`.
  bool is_one_block(const List& a, const List& b) {
    if (a.size() > most_at_border || b.size() > most_at_border) return false;
    const auto sums = [&](const List& list) {
      std::vector<int64_t> out{0};
      for (uint32_t i : list)
        for (size_t k = out.size(); k-- > 0;) out.push_back(out[k] + blocks_[i].size);
      std::sort(out.begin(), out.end());
      return out;
    };
    const std::vector<int64_t> x = sums(a), y = sums(b);
    std::vector<int64_t> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    return both.size() == 2;
  }
  void absorb(Block& into, Block& from, int64_t distance) {
    for (const JoinedProblem::Part& part : from.parts)
      into.parts.push_back({part.buffer, part.distance + distance});
    from.parts.clear();
  }
  // Puts all of `list`, which live together, on its first; `other` has them too.
  void stack(List& list, List& other) {
    Block& into = blocks_[list[0]];
    for (size_t k = 1; k < list.size(); ++k) {
      absorb(into, blocks_[list[k]], into.size);
      into.size += blocks_[list[k]].size;
    }
    std::erase_if(other, [&](uint32_t i) { return blocks_[i].parts.empty(); });
    list.resize(1);
  }
  // Puts what begins at s after what ends there.
  void chain(int32_t s) {
    const uint32_t a = ends_[at(s)][0], b = begins_[at(s)][0];
    const int32_t last = blocks_[b].last;
    absorb(blocks_[a], blocks_[b], 0);
    blocks_[a].last = last;
    std::replace(ends_[at(last)].begin(), ends_[at(last)].end(), b, a);
    ends_[at(s)].clear();
    begins_[at(s)].clear();
    queue(blocks_[a].first);
    queue(last);
  }

  const OffsetProblem& p_;
  const int64_t capacity_;
  std::vector<Block> blocks_;
  std::vector<List> begins_, ends_;  // by border: that before section s
  std::vector<bool> queued_;
  std::vector<int32_t> queue_;
};

}  // namespace

Placement JoinedProblem::spread(const Placement& at) const {
  size_t count = 0;
  for (const std::vector<Part>& list : parts) count += list.size();
  Placement out(count, -1);
  for (size_t k = 0; k < parts.size(); ++k)
    for (const Part& part : parts[k]) out[part.buffer] = at[k] * problem.unit + part.distance;
  return out;
}

JoinedProblem join_buffers(const OffsetProblem& p, int64_t capacity) {
  std::vector<Block> blocks = Joiner(p, capacity).run();
  std::erase_if(blocks, [](const Block& b) { return b.parts.empty(); });
  std::vector<Lifetime> lifetimes;
  for (const Block& b : blocks) lifetimes.push_back({b.first, b.last, b.size});
  JoinedProblem out{make_offset_problem(lifetimes, 1), {}};
  for (const OffsetProblem::Buffer& b : out.problem.buffers)
    out.parts.push_back(std::move(blocks[b.index].parts));
  return out;
}

}  // namespace cleave::plan
