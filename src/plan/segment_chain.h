// A chain of segments in the order in which chains merge (series_parallel.h).
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

class SegmentChain {
 public:
  using Segments = std::multiset<Segment, SegmentOrder>;

  const Segments& segments() const { return segments_; }

  // One segment behind the others.
  void append(Segment s, std::vector<TaskId>& next) {
    while (!segments_.empty()) {
      const auto last = std::prev(segments_.end());
      if (SegmentOrder()(*last, s)) break;
      s = joined(*last, s, next);
      segments_.erase(last);
    }
    segments_.insert(segments_.end(), s);
  }
  void prepend(Segment s, std::vector<TaskId>& next) {
    while (!segments_.empty()) {
      const auto first = segments_.begin();
      if (SegmentOrder()(s, *first)) break;
      s = joined(s, *first, next);
      segments_.erase(first);
    }
    segments_.insert(segments_.begin(), s);
  }
  // The chain `behind` after this one; the smaller is taken apart.
  void join(SegmentChain&& behind, std::vector<TaskId>& next) {
    if (behind.segments_.size() > segments_.size()) {
      for (auto s = segments_.rbegin(); s != segments_.rend(); ++s) behind.prepend(*s, next);
      segments_.swap(behind.segments_);
    } else {
      for (const Segment& s : behind.segments_) append(s, next);
    }
    behind.segments_.clear();
  }
  // An independent chain.
  void merge(SegmentChain&& other) {
    if (other.segments_.size() > segments_.size()) segments_.swap(other.segments_);
    segments_.merge(other.segments_);
  }

 private:
  static Segment joined(const Segment& a, const Segment& b, std::vector<TaskId>& next) {
    next[a.last] = b.first;
    return {std::max(a.hill, a.growth + b.hill), a.growth + b.growth, a.first, b.last};
  }

  Segments segments_;
};

}  // namespace cleave::plan
