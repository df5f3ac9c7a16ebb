// Attention against a plain double loop written here, with both engines.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "op/philox_reference.h"
#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

struct Sizes {
  int64_t batch, heads, key_heads, rows, columns, width, value_width;
};

// A mask's effect on a weight: whether it is masked, and what is added to the score.
struct Gate {
  bool open = true;
  double add = 0;
};

// y[b,h,i,:] = sum over j of exp(q.k * scale + add) v[b,h/group,j,:], divided by the sum of exp;
// zeros where nothing is open. `keep` scales each weight afterwards.
std::vector<double> plain(const Sizes& s, const Array& q, const Array& k, const Array& v,
                          double scale, const std::function<Gate(int64_t, int64_t)>& gate,
                          const std::function<double(int64_t)>& keep) {
  std::vector<double> y;
  const int64_t group = s.heads / s.key_heads;
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.rows; ++i) {
        std::vector<double> out(static_cast<size_t>(s.value_width), 0);
        double total = 0;
        for (int64_t j = 0; j < s.columns; ++j) {
          if (!gate(i, j).open) continue;
          const int64_t head = b * s.key_heads + h / group;
          double score = 0;
          for (int64_t e = 0; e < s.width; ++e)
            score += q.f[((b * s.heads + h) * s.rows + i) * s.width + e] *
                     k.f[(head * s.columns + j) * s.width + e];
          const double w = std::exp(score * scale + gate(i, j).add);
          total += w;
          const double kept = w * keep(((b * s.heads + h) * s.rows + i) * s.columns + j);
          for (int64_t e = 0; e < s.value_width; ++e)
            out[e] += kept * v.f[(head * s.columns + j) * s.value_width + e];
        }
        for (double x : out) y.push_back(total > 0 ? x / total : 0);
      }
  return y;
}

double always(int64_t) { return 1; }

Inputs operands(const Sizes& s) {
  return {{"q", scattered(DType::f32, {s.batch, s.heads, s.rows, s.width}, 1)},
          {"k", scattered(DType::f32, {s.batch, s.key_heads, s.columns, s.width}, 2)},
          {"v", scattered(DType::f32, {s.batch, s.key_heads, s.columns, s.value_width}, 3)}};
}

std::string text(const Inputs& in, const std::string& call) {
  std::string out = "graph @main(";
  for (const auto& [name, a] : in)
    out += (out.back() == '(' ? "%" : ", %") + name + ": input " +
           Type(a.dtype, Shape(a.shape.begin(), a.shape.end())).text();
  return out + ") {\n  %y = scaled_dot_product_attention(" + call + ")\n  return %y\n}\n";
}

void expect_equal(const Arrays& got, const std::vector<double>& want) {
  ASSERT_EQ(got[0].f.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(got[0].f[k], want[k], 2e-6) << k;
}

TEST(Attention, causal_counts_from_the_first_row) {
  for (const Sizes& s :
       {Sizes{2, 3, 3, 5, 5, 4, 6}, Sizes{1, 2, 2, 3, 7, 4, 4}, Sizes{1, 2, 2, 7, 3, 4, 4}}) {
    const Inputs in = operands(s);
    expect_equal(by_both(text(in, "%q, %k, %v; is_causal=true"), in, 2e-6),
                 plain(
                     s, in.at("q"), in.at("k"), in.at("v"), 0.5,
                     [](int64_t i, int64_t j) { return Gate{j <= i}; }, always));
  }
}

TEST(Attention, grouped_heads_are_neighbours) {
  const Sizes s{2, 6, 2, 4, 5, 4, 3};
  const Inputs in = operands(s);
  expect_equal(by_both(text(in, "%q, %k, %v; enable_gqa=true, scale=0.7"), in, 2e-6),
               plain(
                   s, in.at("q"), in.at("k"), in.at("v"), 0.7,
                   [](int64_t, int64_t) { return Gate{}; }, always));
}

TEST(Attention, masks_and_a_closed_row) {
  const Sizes s{1, 2, 2, 3, 4, 4, 4};
  Inputs in = operands(s);
  in["m"] = ints(DType::boolean, {3, 4}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1});
  const auto open = [&](int64_t i, int64_t j) { return Gate{in.at("m").i[i * 4 + j] != 0}; };
  const std::vector<double> want = plain(s, in.at("q"), in.at("k"), in.at("v"), 0.5, open, always);
  expect_equal(by_both(text(in, "%q, %k, %v, %m"), in, 2e-6), want);
  for (int64_t e = 0; e < 4; ++e) EXPECT_EQ(want[4 + e], 0);  // the closed row

  in["m"] = scattered(DType::f32, {2, 1, 4}, 9);
  const auto added = [&](int64_t h) {
    return [&in, h](int64_t i, int64_t j) { return Gate{j <= i, in.at("m").f[h * 4 + j]}; };
  };
  const Arrays got = by_both(text(in, "%q, %k, %v, %m; is_causal=true"), in, 2e-6);
  for (int64_t h = 0; h < 2; ++h) {
    const std::vector<double> all =
        plain(s, in.at("q"), in.at("k"), in.at("v"), 0.5, added(h), always);
    for (int64_t k = h * 12; k < (h + 1) * 12; ++k) EXPECT_NEAR(got[0].f[k], all[k], 2e-6);
  }
}

TEST(Attention, rows_of_no_numbers_average_all_values) {
  const Sizes s{1, 2, 2, 3, 4, 0, 4};
  const Inputs in = operands(s);
  expect_equal(by_both(text(in, "%q, %k, %v"), in, 2e-6),
               plain(
                   s, in.at("q"), in.at("k"), in.at("v"), 1,
                   [](int64_t, int64_t) { return Gate{}; }, always));
}

TEST(Attention, dropout_by_the_place_of_the_weight) {
  const Sizes s{2, 2, 2, 3, 5, 4, 4};
  Inputs in = operands(s);
  in["rng"] = ints(DType::i64, {2}, {11, 6});
  std::string program = text(in, "%q, %k, %v, none, %rng; dropout_p=0.375, stream=4");
  const std::string role = "%rng: input";
  program.replace(program.find(role), role.size(), "%rng: rng_state");
  const auto keep = [](int64_t place) {
    return uniform_of(random_word(11, 6, 4, place)) >= 0.375 ? 1 / 0.625 : 0;
  };
  int64_t dropped = 0;
  for (int64_t place = 0; place < 60; ++place) dropped += keep(place) == 0;
  EXPECT_GT(dropped, 10);
  EXPECT_LT(dropped, 40);
  expect_equal(by_both(program, in, 2e-6), plain(
                                               s, in.at("q"), in.at("k"), in.at("v"), 0.5,
                                               [](int64_t, int64_t) { return Gate{}; }, keep));
}

}  // namespace
}  // namespace cleave::test
