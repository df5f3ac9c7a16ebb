// The first few elements of lines: a line is read once, with a buffer of twice as many items as are
// wanted. What comes before the last of the first ones known so far goes into it; when it is full,
// it is cut to the first ones.
#pragma once
#include <algorithm>

#include "runtime/lane_count.h"
#include "runtime/run_lanes.h"
#include "runtime/sort_lines.h"

namespace cleave::runtime {

// For count below a quarter of the length. Where there are few lines, a line is read in parts side
// by side, whose first ones are joined.
template <class Element>
class SortFirst final : public SortLines<Element> {
  using Base = SortLines<Element>;
  using Base::s_;
  using typename Base::Key;
  using typename Base::Line;
  using typename Base::T;

 public:
  explicit SortFirst(const SortSpec& spec) : Base(spec) {
    const int64_t lines = this->lines();
    if (lines < max_lanes && s_.count < sort_chunk / 4)
      parts_ = (s_.length + sort_chunk - 1) / sort_chunk;
    per_piece_ = std::clamp<int64_t>(sort_chunk / s_.length, 1, lines);
    pieces_ = parts_ > 1 ? lines * parts_ : (lines + per_piece_ - 1) / per_piece_;
    room_ = std::min(s_.length, std::max(2 * s_.count, s_.count + 64));
    lanes_ = lanes_for(cycles * static_cast<double>(lines * s_.length), pieces_);
  }

  int64_t scratch_bytes() const override {
    const int64_t items = lanes_ * room_ + (parts_ > 1 ? pieces_ * s_.count : 0);
    return (items * int64_t{sizeof(T)} + 63) / 64 * 64;
  }

  void call(void* const* at, void* scratch, const RunContext& context) const override {
    T* rooms = static_cast<T*>(scratch);
    T* found = rooms + lanes_ * room_;
    run_lanes(lanes_, pieces_, context.executor, [&](long lane, long piece) {
      T* items = rooms + lane * room_;
      if (parts_ > 1) {
        const int64_t begin = piece % parts_ * sort_chunk;
        const int64_t end = std::min(begin + sort_chunk, s_.length);
        const int64_t count = first(this->line(at, piece / parts_), begin, end, items);
        std::copy_n(items, count, found + piece * s_.count);
        return;
      }
      const int64_t begin = piece * per_piece_, end = std::min(begin + per_piece_, this->lines());
      for (int64_t i = begin; i < end; ++i) {
        const Line l = this->line(at, i);
        first(l, 0, s_.length, items);
        std::sort(items, items + s_.count);
        this->write(l, items, 0, s_.count);
      }
    });
    if (parts_ == 1) return;
    // All parts but the last one have found `count`.
    const int64_t last = std::min(s_.count, s_.length - (parts_ - 1) * sort_chunk);
    const int64_t all = (parts_ - 1) * s_.count + last;
    for (int64_t i = 0; i < this->lines(); ++i) {
      T* items = found + i * parts_ * s_.count;
      std::nth_element(items, items + s_.count - 1, items + all);
      std::sort(items, items + s_.count);
      this->write(this->line(at, i), items, 0, s_.count);
    }
  }

 private:
  static constexpr double cycles = 3;  // an element

  // Of elements [begin, end), in no order; how many.
  int64_t first(const Line& l, int64_t begin, int64_t end, T* items) const {
    int64_t size = 0, i = begin;
    for (; i < end && size < room_; ++i) items[size++] = item_of<Key>(this->key(l, i), i);
    if (i < end) {
      T limit = cut(items, size);
      Key limit_key = static_cast<Key>(limit >> key_shift<Key>);
      for (; i < end; ++i) {
        const Key key = this->key(l, i);
        if (key >= limit_key) continue;  // a later element that is equal comes after it
        items[size++] = item_of<Key>(key, i);
        if (size < room_) continue;
        limit = cut(items, size);
        limit_key = static_cast<Key>(limit >> key_shift<Key>);
      }
    }
    if (size > s_.count) cut(items, size);
    return std::min(size, s_.count);
  }
  // Keeps the first ones, and returns the last of them.
  T cut(T* items, int64_t& size) const {
    std::nth_element(items, items + s_.count - 1, items + size);
    size = s_.count;
    return items[s_.count - 1];
  }

  int64_t parts_ = 1, per_piece_ = 1, pieces_ = 0, lanes_ = 0, room_ = 0;
};

}  // namespace cleave::runtime
