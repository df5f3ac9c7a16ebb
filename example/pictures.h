// Random pictures for training: coloured shapes on a noisy background, and digits.
//
//   Pictures p = draw_shapes(rng, 32, 32);       // one shape a picture: p.labels says which
#pragma once
#include <cleave/cleave.h>

#include <algorithm>
#include <cmath>

namespace example {

using namespace cleave;

struct Pictures {
  HostTensor images;  // f32[N,3,S,S]
  HostTensor labels;  // i64[N]: the kind of the shape drawn last
  HostTensor masks;   // i64[N,S,S]: 0 is ground, k + 1 a shape of kind k
};

constexpr int64_t shape_kinds = 6;  // disc, square, triangle, ring, plus, diagonal cross

// Whether (u, v) in [-1, 1]^2 is inside of a shape.
inline bool inside(int64_t kind, double u, double v) {
  const double r = std::hypot(u, v);
  switch (kind) {
    case 0: return r < 1;
    case 1: return std::max(std::abs(u), std::abs(v)) < 0.85;
    case 2: return v < 0.9 && std::abs(u) < (v + 1) / 2;
    case 3: return r < 1 && r > 0.55;
    case 4:
      return std::min(std::abs(u), std::abs(v)) < 0.28 && std::max(std::abs(u), std::abs(v)) < 1;
    default:
      return std::abs(std::abs(u) - std::abs(v)) < 0.35 && std::max(std::abs(u), std::abs(v)) < 1;
  }
}

// n pictures of size x size, each with `count` shapes of the first `kinds` kinds, later ones drawn
// over earlier ones; a single shape is larger.
inline Pictures draw_shapes(Generator& rng, int64_t n, int64_t size, int64_t count = 1,
                            int64_t kinds = shape_kinds) {
  Pictures p{rng.normal({n, 3, size, size}, 0, 0.3), HostTensor(DType::i64, {n}),
             HostTensor(DType::i64, {n, size, size})};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t s = 0; s < count; ++s) {
      const int64_t kind = rng.integer(kinds);
      const double part = (count == 1 ? 0.3 : 0.15) + 0.12 * rng.uniform();
      const double radius = part * static_cast<double>(size);
      const double span = static_cast<double>(size) - 2 * radius;
      const double x0 = radius + span * rng.uniform(), y0 = radius + span * rng.uniform();
      float colour[3];
      for (float& c : colour) c = static_cast<float>(0.5 + rng.uniform());
      p.labels.at<int64_t>({i}) = kind;
      for (int64_t y = 0; y < size; ++y)
        for (int64_t x = 0; x < size; ++x) {
          if (!inside(kind, (static_cast<double>(x) - x0) / radius,
                      (static_cast<double>(y) - y0) / radius))
            continue;
          p.masks.at<int64_t>({i, y, x}) = kind + 1;
          for (int64_t c = 0; c < 3; ++c) p.images.at<float>({i, c, y, x}) += colour[c];
        }
    }
  return p;
}

// n seven-segment digits, f32[n,1,16,16] in [0, 1], each shifted and slanted a little.
inline HostTensor draw_digits(Generator& rng, int64_t n) {
  // Bars: top, upper left, upper right, middle, lower left, lower right, bottom.
  static constexpr const char* lit[10] = {"1110111", "0010010", "1011101", "1011011", "0111010",
                                          "1101011", "1101111", "1010010", "1111111", "1111011"};
  static constexpr double bars[7][4] = {{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 1, 1}, {0, 1, 1, 1},
                                        {0, 1, 0, 2}, {1, 1, 1, 2}, {0, 2, 1, 2}};
  HostTensor images(DType::f32, {n, 1, 16, 16});
  for (int64_t i = 0; i < n; ++i) {
    const char* on = lit[rng.integer(10)];
    const double x0 = 4 + 2 * rng.uniform(), y0 = 2 + 2 * rng.uniform();
    const double slant = 0.3 * (rng.uniform() - 0.5), stroke = 0.8 + 0.5 * rng.uniform();
    for (int64_t y = 0; y < 16; ++y)
      for (int64_t x = 0; x < 16; ++x) {
        double nearest = 16;
        for (int b = 0; b < 7; ++b) {
          if (on[b] == '0') continue;
          const double left = x0 + 5 * bars[b][0], right = x0 + 5 * bars[b][2];
          const double top = y0 + 5 * bars[b][1], bottom = y0 + 5 * bars[b][3];
          const double px = static_cast<double>(x) + slant * static_cast<double>(y - 8),
                       py = static_cast<double>(y);
          nearest = std::min(nearest, std::hypot(px - std::clamp(px, left, right),
                                                 py - std::clamp(py, top, bottom)));
        }
        images.at<float>({i, 0, y, x}) =
            static_cast<float>(std::clamp(stroke + 0.5 - nearest, 0.0, 1.0));
      }
  }
  return images;
}

// The fraction of rows of logits f32[n,C] whose largest element is at labels i64[n].
inline double accuracy(const HostTensor& logits, const HostTensor& labels) {
  const int64_t n = labels.numel(), classes = logits.numel() / n;
  int64_t right = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = logits.data<float>() + i * classes;
    right += std::max_element(row, row + classes) - row == labels.data<int64_t>()[i];
  }
  return static_cast<double>(right) / static_cast<double>(n);
}

}  // namespace example
