// Buffers that fill a capacity to the last byte at some moment, so that the optimum is known, for
// measurements of the offset planner: pieces of a rectangle of time x memory.
//
//   memory  +-----+---+-------+     a rectangle is split at a time, at an offset, or into five
//     ^     |     | b |   c   |     (a pinwheel, which no straight cut through it divides), until
//     |     |  a  +---+---+---+     there are `count`; the rectangles are dealt in random order
//     |     |     |   d   | e |     without their offsets
//     +-----+-----+-------+---+---> time
//
// With `gaps`, that many per cent of the buffers outside of one moment, where all is kept, are
// left out: the optimum stays the capacity, and placements have room to be wrong in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/offsets.h"
#include "plan/split_mix.h"

namespace cleave {

struct TightBuffers {
  int64_t count = 200;     // before gaps
  uint32_t gaps = 0;       // per cent
  uint32_t pinwheels = 0;  // per cent of the splits
  // Per cent of the other splits that are at a time: fewer make longer lifetimes.
  uint32_t at_times = 50;
  // Times are multiples of so much of the whole: many buffers begin and end together.
  int64_t moments = 1 << 20;
};

class TightSplit {
 public:
  static constexpr int64_t capacity = 1 << 20, unit = 1 << 8;

  TightSplit(const TightBuffers& wanted, uint64_t seed) : wanted_(wanted), random_(seed) {
    pieces_.push_back({0, wanted.moments, 0, capacity / unit});
    for (int64_t tries = 0; std::ssize(pieces_) < wanted.count && tries < 100 * wanted.count;
         ++tries)
      split(pick());
  }
  std::vector<plan::Lifetime> buffers() {
    const int64_t moment = below(wanted_.moments);
    std::vector<plan::Lifetime> out;
    for (const Piece& p : pieces_) {
      const bool kept = p.begin <= moment && moment < p.end;
      if (!kept && random_.below(100) < wanted_.gaps) continue;
      out.push_back({p.begin, p.end, (p.high - p.low) * unit});
    }
    for (size_t i = out.size(); i > 1; --i)
      std::swap(out[i - 1], out[random_.below(static_cast<uint32_t>(i))]);
    return out;
  }

 private:
  struct Piece {
    int64_t begin, end, low, high;
    double area() const {
      return static_cast<double>(end - begin) * static_cast<double>(high - low);
    }
  };
  int64_t below(int64_t n) { return random_.below(static_cast<uint32_t>(n)); }
  // In (a, b), away from both ends if there is room.
  int64_t inside(int64_t a, int64_t b) {
    const int64_t margin = (b - a) / 8;
    return a + std::max<int64_t>(1, margin) + below(b - a - 2 * std::max<int64_t>(1, margin) + 1);
  }
  // The largest of some.
  size_t pick() {
    size_t best = random_.below(static_cast<uint32_t>(pieces_.size()));
    for (int i = 0; i < 3; ++i) {
      const size_t k = random_.below(static_cast<uint32_t>(pieces_.size()));
      if (pieces_[k].area() > pieces_[best].area()) best = k;
    }
    return best;
  }
  void split(size_t k) {
    const Piece p = pieces_[k];
    const bool wide = p.end - p.begin > 3, tall = p.high - p.low > 3;
    if (random_.below(100) < wanted_.pinwheels && wide && tall) {
      const int64_t s = inside(p.begin, p.end - 1), t = s + 1 + below(p.end - 1 - s);
      const int64_t a = inside(p.low, p.high - 1), b = a + 1 + below(p.high - 1 - a);
      pieces_[k] = {p.begin, s, p.low, b};
      pieces_.push_back({s, p.end, p.low, a});
      pieces_.push_back({t, p.end, a, p.high});
      pieces_.push_back({p.begin, t, b, p.high});
      pieces_.push_back({s, t, a, b});
    } else if (wide && (!tall || random_.below(100) < wanted_.at_times)) {
      const int64_t t = inside(p.begin, p.end);
      pieces_[k].end = t;
      pieces_.push_back({t, p.end, p.low, p.high});
    } else if (tall) {
      const int64_t a = inside(p.low, p.high);
      pieces_[k].high = a;
      pieces_.push_back({p.begin, p.end, a, p.high});
    }
  }

  TightBuffers wanted_;
  plan::SplitMix random_;
  std::vector<Piece> pieces_;
};

}  // namespace cleave
