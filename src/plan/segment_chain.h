// A chain of segments, sorted in the order in which chains are merged (series_parallel.h).
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "plan/task_graph.h"

namespace cleave::plan {

struct Segment {
  int64_t hill = 0, growth = 0;
  TaskId first = 0, last = 0;  // a list linked through SegmentChain's `next`
};

struct SegmentOrder {
  bool operator()(const Segment& a, const Segment& b) const {
    const bool a_grows = a.growth > 0, b_grows = b.growth > 0;
    if (a_grows != b_grows) return b_grows;
    return a_grows ? a.hill - a.growth > b.hill - b.growth : a.hill < b.hill;
  }
};

// Most chains have one segment, which is stored in the chain itself.
class SegmentChain {
 public:
  bool empty() const { return !is_one_ && many_.empty(); }
  size_t size() const { return is_one_ ? 1 : many_.size(); }

  // Calls f for each segment in order.
  template <class F>
  void for_each(const F& f) const {
    if (is_one_) return f(one_);
    for (const Segment& s : many_) f(s);
  }

  // Appends one segment.
  void append(Segment s, std::vector<TaskId>& next) {
    while (!empty()) {
      const Segment& last = is_one_ ? one_ : *std::prev(many_.end());
      if (SegmentOrder()(last, s)) break;
      s = joined(last, s, next);
      drop(true);
    }
    add(s, true);
  }
  void prepend(Segment s, std::vector<TaskId>& next) {
    while (!empty()) {
      const Segment& first = is_one_ ? one_ : *many_.begin();
      if (SegmentOrder()(s, first)) break;
      s = joined(s, first, next);
      drop(false);
    }
    add(s, false);
  }
  // Appends the chain `after`; inserts the smaller chain's segments into the larger one.
  void join(SegmentChain&& after, std::vector<TaskId>& next) {
    if (after.size() > size()) {
      if (is_one_) after.prepend(one_, next);
      for (auto s = many_.rbegin(); s != many_.rend(); ++s) after.prepend(*s, next);
      swap(after);
    } else {
      after.for_each([&](const Segment& s) { append(s, next); });
    }
    after.clear();
  }
  // Merges an independent chain.
  void merge(SegmentChain&& other) {
    if (other.size() > size()) swap(other);
    if (other.is_one_)
      add(other.one_, true);
    else if (!other.many_.empty())
      many_.merge(other.many_);
    other.clear();
  }

 private:
  static Segment joined(const Segment& a, const Segment& b, std::vector<TaskId>& next) {
    next[a.last] = b.first;
    return {std::max(a.hill, a.growth + b.hill), a.growth + b.growth, a.first, b.last};
  }
  // Inserts s after, or before, the segments equal to it.
  void add(const Segment& s, bool after) {
    if (empty()) {
      one_ = s;
      is_one_ = true;
      return;
    }
    if (is_one_) many_.insert(one_);
    is_one_ = false;
    if (after)
      many_.insert(s);
    else
      many_.insert(many_.lower_bound(s), s);
  }
  void drop(bool last) {
    if (is_one_)
      is_one_ = false;
    else
      many_.erase(last ? std::prev(many_.end()) : many_.begin());
  }
  void clear() {
    is_one_ = false;
    many_.clear();
  }
  void swap(SegmentChain& other) {
    std::swap(is_one_, other.is_one_);
    std::swap(one_, other.one_);
    many_.swap(other.many_);
  }

  bool is_one_ = false;
  Segment one_;
  std::multiset<Segment, SegmentOrder> many_;
};

}  // namespace cleave::plan
