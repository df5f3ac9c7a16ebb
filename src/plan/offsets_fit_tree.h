// Points (first, last), identified by their rank; finds the best ranked one within bounds.
//
//   last ^   . 3        find(l, u): the least rank with first >= l and last <= u
//      u |-----+ . 1
//        | . 2 |        a kd-tree of one point a leaf: log n for favourable ranks, at most the
//        +-----l--->    square root of n
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cleave::plan {

class FitTree {
 public:
  static constexpr uint32_t nobody = std::numeric_limits<uint32_t>::max();
  struct Point {
    int32_t first, last;
  };
  explicit FitTree(const std::vector<Point>& by_rank);
  uint32_t find(int32_t l, int32_t u) const;  // or nobody
  void remove(uint32_t rank) { set(rank, Node{}); }
  void put(uint32_t rank, const Point& p) { set(rank, {rank, p.first, p.first, p.last, p.last}); }

 private:
  struct Node {
    uint32_t best = nobody;  // nobody where there is no point
    int32_t min_first = std::numeric_limits<int32_t>::max(), max_first = -1;
    int32_t min_last = std::numeric_limits<int32_t>::max(), max_last = -1;
  };
  void set(uint32_t rank, const Node& n);
  void join(size_t k);
  // Recursion depth: log n.
  void build(size_t k, uint32_t* begin, uint32_t* end, size_t leaves, bool by_first,
             const std::vector<Point>& points);

  size_t leaves_ = 1;
  std::vector<Node> nodes_;  // node k has the children 2k and 2k + 1
  std::vector<size_t> leaf_of_;
};

}  // namespace cleave::plan
