#include "plan/offsets_skyline.h"

#include <algorithm>

namespace cleave::plan {

Skyline::Skyline(int32_t sections)
    : end_(static_cast<size_t>(sections)), begin_of_(static_cast<size_t>(sections) + 1),
      height_(static_cast<size_t>(sections), -1), sections_(sections) {
  if (sections > 0) put({0, sections, 0});
}

Skyline::Segment Skyline::lowest() {
  while (true) {
    const auto [height, begin] = queue_.top();
    const auto b = static_cast<size_t>(begin);
    if (height_[b] == height) return {begin, end_[b], height};
    queue_.pop();
  }
}

void Skyline::raise(const Segment& s, int64_t most) {
  int64_t to = most;
  if (s.begin > 0) to = std::min(to, height_[at(begin_of_[at(s.begin)])]);
  if (s.end < sections_) to = std::min(to, height_[at(s.end)]);
  put({s.begin, s.end, to});
}

void Skyline::place(const Segment& s, int32_t begin, int32_t end, int64_t size) {
  if (begin > s.begin) put_alone({s.begin, begin, s.height});
  if (end < s.end) put_alone({end, s.end, s.height});
  put({begin, end, s.height + size});
}

void Skyline::put_alone(const Segment& s) {
  end_[at(s.begin)] = s.end;
  begin_of_[at(s.end)] = s.begin;
  height_[at(s.begin)] = s.height;
  queue_.push({s.height, s.begin});
}

void Skyline::put(Segment s) {
  height_[at(s.begin)] = -1;
  if (s.end < sections_ && height_[at(s.end)] == s.height) {
    height_[at(s.end)] = -1;
    s.end = end_[at(s.end)];
  }
  if (s.begin > 0 && height_[at(begin_of_[at(s.begin)])] == s.height)
    s.begin = begin_of_[at(s.begin)];
  put_alone(s);
}

}  // namespace cleave::plan
