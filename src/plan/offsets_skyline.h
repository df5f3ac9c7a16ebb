// The tops of the placed buffers: segments of equal height, by their first section.
//
//   height  +---+          lowest() = the segment [l, u); raise lifts it to its lower neighbour's
//     ^  +--+   |    +--   height, place puts a buffer on a part of it
//     |  |      +----+
//     +--+------l----u---> section
//
// Each call takes O(log n).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace cleave::plan {

class Skyline {
 public:
  struct Segment {
    int32_t begin, end;
    int64_t height;
  };
  explicit Skyline(int32_t sections);
  Segment lowest();  // the leftmost of equals
  // Raises it to its lower neighbour, or to `most` if that is lower.
  void raise(const Segment& s, int64_t most);
  // Puts `size` on [begin, end), a part of the segment s.
  void place(const Segment& s, int32_t begin, int32_t end, int64_t size);

 private:
  static size_t at(int32_t section) { return static_cast<size_t>(section); }
  void put_alone(const Segment& s);
  void put(Segment s);  // merged with neighbours of its height

  std::vector<int32_t> end_, begin_of_;  // by segment begin; by segment end
  std::vector<int64_t> height_;          // -1 where no segment begins
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;  // stale ones too
  int32_t sections_;
};

}  // namespace cleave::plan
