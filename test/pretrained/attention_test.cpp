// Attention by shared heads and within a window, beside sums over all positions.
#include "pretrained/attention.h"

#include <cmath>

#include "test/pretrained/small.h"
#include "test/trace/traced.h"

namespace cleave::pretrained {
namespace {

constexpr int64_t length = 6, width = 2, heads = 4, kv_heads = 2;

// [1,h,length,width] at (head, position, element).
double element(const HostTensor& x, int64_t head, int64_t t, int64_t e) {
  return x.number((head * length + t) * width + e);
}

HostTensor some(int64_t h, double phase) {
  HostTensor a(DType::f64, {1, h, length, width});
  for (int64_t k = 0; k < a.numel(); ++k)
    a.set_number(k, std::sin(phase + 1.7 * static_cast<double>(k)));
  return a;
}

// What position t of a head sees: positions [first, last].
double expected(const HostTensor& q, const HostTensor& k, const HostTensor& v, int64_t head,
                int64_t t, int64_t e, int64_t first, int64_t last, double scale) {
  const int64_t own = head / (heads / kv_heads);
  double sum = 0, weights = 0;
  for (int64_t j = first; j <= last; ++j) {
    double score = 0;
    for (int64_t d = 0; d < width; ++d) score += element(q, head, t, d) * element(k, own, j, d);
    const double w = std::exp(score * scale);
    weights += w;
    sum += w * element(v, own, j, e);
  }
  return sum / weights;
}

void check(const Attention& a, int64_t window) {
  CompiledFunction f =
      compile([&](const Tensor& q, const Tensor& k,
                  const Tensor& v) { return attended(q, k, v, a, Location::current()); },
              {{"q", DType::f64, {1, heads, length, width}},
               {"k", DType::f64, {1, kv_heads, length, width}},
               {"v", DType::f64, {1, kv_heads, length, width}}});
  const HostTensor q = some(heads, 0.1), k = some(kv_heads, 0.2), v = some(kv_heads, 0.3);
  const HostTensor y = f.run({q, k, v})[0];
  ASSERT_EQ(y.shape(), (std::vector<int64_t>{1, length, heads * width}));
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t t = 0; t < length; ++t)
      for (int64_t e = 0; e < width; ++e) {
        const int64_t first = std::max<int64_t>(0, a.is_causal ? t - window + 1 : 0);
        const int64_t last = a.is_causal ? t : length - 1;
        EXPECT_NEAR(y.number((t * heads + head) * width + e),
                    expected(q, k, v, head, t, e, first, last, a.scale.value_or(1 / std::sqrt(2))),
                    1e-9);
      }
}

TEST(Attention, of_all_positions) { check({}, length); }
TEST(Attention, causal) { check({.is_causal = true}, length); }
TEST(Attention, scaled) { check({.is_causal = true, .scale = 0.3}, length); }
TEST(Attention, within_a_window) {
  for (const int64_t window : {1, 3, 5, 6, 9}) check({.is_causal = true, .window = window}, window);
}

TEST(Attention, heads_of_a_row) {
  const Graph g = test::traced({{"x", DType::f64, {1, 2, 6}}}, [](const Tensor& x) {
    return headed(x, 3, Location::current()) + 0;
  });
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Array y = test::run(g, {{"x", test::filled({1, 2, 6}, x)}})[0];
  EXPECT_EQ(y.shape, (std::vector<int64_t>{1, 3, 2, 2}));
  EXPECT_EQ(y.f, (std::vector<double>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
}

}  // namespace
}  // namespace cleave::pretrained
