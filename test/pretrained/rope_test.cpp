// Rotary positions: fields, frequencies, rotations.
#include "pretrained/rope.h"

#include <cmath>
#include <numbers>

#include "test/pretrained/small.h"

namespace cleave::pretrained {
namespace {

Result<Rope> rope_of(const std::string& text) {
  CLEAVE_TRY(const ConfigFile file, ConfigFile::from_text(text, "c"));
  return read_rope(file.fields(), 64);
}
std::string rope_refusal(const std::string& text) {
  const Result<Rope> r = rope_of(text);
  if (r.ok()) return "no error";
  return (r.failure().kind == ErrorKind::unsupported ? "unsupported: " : "user: ") +
         r.failure().message;
}

const std::string llama3 =
    R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4)";

TEST(Rope, fields_of_all_versions) {
  EXPECT_EQ(rope_of("{}")->theta, 10000);
  EXPECT_EQ(rope_of(R"({"rope_theta": 500000, "rope_scaling": null})")->theta, 500000);
  EXPECT_EQ(rope_of(R"({"rope_parameters": {"rope_theta": 7, "rope_type": "default"}})")->theta, 7);
  const Rope older = *rope_of(R"({"rope_theta": 9, "rope_scaling": {"type": "linear",
                                  "factor": 2}})");
  EXPECT_EQ(older.kind, Rope::Kind::linear);
  EXPECT_EQ(older.theta, 9);
  EXPECT_EQ(older.factor, 2);
  EXPECT_EQ(rope_of("{\"rope_scaling\": {" + llama3 + "}}")->original_context, 64);
  EXPECT_EQ(
      rope_of("{\"rope_scaling\": {" + llama3 + ", \"original_max_position_embeddings\": 16}}")
          ->original_context,
      16);
}

TEST(Rope, what_is_refused) {
  EXPECT_EQ(rope_refusal(R"({"rope_scaling": {"rope_type": "yarn", "factor": 2}})"),
            "unsupported: rope_scaling.rope_type is \"yarn\", cleave has default, linear and "
            "llama3");
  EXPECT_EQ(rope_refusal(R"({"partial_rotary_factor": 0.5})"),
            "unsupported: partial_rotary_factor is 0.5, cleave has 1 alone");
  EXPECT_EQ(rope_refusal(R"({"rope_parameters": {"partial_rotary_factor": 0.5}})"),
            "unsupported: rope_parameters.partial_rotary_factor is 0.5, cleave has 1 alone");
  EXPECT_EQ(rope_refusal(R"({"rope_parameters": {"full_attention": {"rope_theta": 5}}})"),
            "unsupported: rope_parameters.\"full_attention\" is {\"rope_theta\":5}, cleave has "
            "models without it alone");
  EXPECT_EQ(rope_refusal(R"({"rope_theta": 0})"),
            "user: rope_theta is 0, expected a number above 0");
  EXPECT_EQ(rope_refusal(R"({"rope_scaling": {"rope_type": "linear"}})"),
            "user: rope_scaling.factor is missing");
  EXPECT_EQ(rope_refusal(R"({"rope_scaling": {"rope_type": "llama3", "factor": 2}})"),
            "user: rope_scaling.low_freq_factor is missing");
  EXPECT_EQ(
      rope_refusal(R"({"rope_scaling": {"rope_type": "llama3", "factor": 2, "low_freq_factor": 4,
                       "high_freq_factor": 4}})"),
      "user: rope_scaling.high_freq_factor is 4, expected more than low_freq_factor, 4");
}

TEST(Rope, frequencies) {
  const std::vector<float> plain = frequencies({}, 8);
  ASSERT_EQ(plain.size(), 4u);
  for (size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(plain[k], std::pow(10000, -static_cast<double>(k) / 4), 1e-7);
  const std::vector<float> halved = frequencies({.kind = Rope::Kind::linear, .factor = 2}, 8);
  for (size_t k = 0; k < 4; ++k) EXPECT_EQ(halved[k], plain[k] / 2);
}

// Waves of 2 pi / step: below 64 / 4 they stay, above 64 / 1 they are 8 times as long.
TEST(Rope, llama3_stretches_long_waves) {
  const std::vector<float> plain = frequencies({}, 16);
  const std::vector<float> steps = frequencies(
      {.kind = Rope::Kind::llama3, .factor = 8, .low = 1, .high = 4, .original_context = 64}, 16);
  int kept = 0, stretched = 0, between = 0;
  for (size_t k = 0; k < plain.size(); ++k) {
    const double wave = 2 * std::numbers::pi / plain[k];
    const double smooth = (64 / wave - 1) / 3;
    if (wave < 16) {
      EXPECT_EQ(steps[k], plain[k]);
      ++kept;
    } else if (wave > 64) {
      EXPECT_EQ(steps[k], plain[k] / 8);
      ++stretched;
    } else {
      EXPECT_NEAR(steps[k], (1 - smooth) * plain[k] / 8 + smooth * plain[k], 1e-7 * plain[k]);
      ++between;
    }
  }
  EXPECT_TRUE(kept > 0 && stretched > 0 && between > 0);
}

TEST(Rope, pairs_are_rotated) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  CompiledFunction f = compile(
      [](const Tensor& t) {
        return rotated(t, rotation({}, 3, 4, DType::f64, Location::current()), Location::current());
      },
      {{"x", DType::f64, {1, 1, 3, 4}}});
  const HostTensor y = f.run({HostTensor::from<double>(x, {1, 1, 3, 4})})[0];
  for (size_t t = 0; t < 3; ++t)
    for (size_t k = 0; k < 2; ++k) {
      const double angle = static_cast<double>(t) * (k == 0 ? 1 : 0.01);
      const double a = x[4 * t + k], b = x[4 * t + k + 2];
      const auto at = static_cast<int64_t>(4 * t + k);
      EXPECT_NEAR(y.number(at), a * std::cos(angle) - b * std::sin(angle), 1e-5);
      EXPECT_NEAR(y.number(at + 2), b * std::cos(angle) + a * std::sin(angle), 1e-5);
    }
}

}  // namespace
}  // namespace cleave::pretrained
