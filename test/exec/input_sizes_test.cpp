// What the inputs of a run may be, and the sizes that they give.
#include "exec/input_sizes.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

// What a failed call says; "no error" if it didn't fail.
template <class T>
std::string failure_text(const Result<T>& r) {
  return r.ok() ? "no error" : r.failure().message;
}
std::string refused(std::vector<InputSpec> specs) {
  return failure_text(InputSizes::make("compile", std::move(specs)));
}
InputSizes sizes_of(std::vector<InputSpec> specs) {
  return value_or_throw(InputSizes::make("compile", std::move(specs)));
}
HostTensor f32_zeros(std::vector<int64_t> shape) {
  return HostTensor(DType::f32, std::move(shape));
}

std::string read_failure(const InputSizes& sizes, const std::vector<InputRef>& inputs,
                         std::vector<int64_t>* out = nullptr) {
  std::vector<int64_t> given;
  const Status s = sizes.read(inputs, given);
  if (out) *out = given;
  return failure_text(s);
}

// Every way in which a shape is written.
TEST(InputSpec, shapes_are_lists_or_vectors) {
  const std::vector<int64_t> sizes = {3, 4};
  const int32_t rows = 5;
  const size_t columns = 6;
  const std::vector<InputSpec> specs = {{"a", DType::f32, {64, 2}},
                                        {"b", DType::f32, sizes},
                                        {"c", DType::f32, {rows, columns}},
                                        {"d", DType::f32, {}},
                                        {"e", DType::f32, {0}},
                                        {"f", DType::f32, std::vector<int64_t>{7}},
                                        {"g"},
                                        {"h", DType::f32, f32_zeros({2, 9}).shape()},
                                        {"i", DType::f32, {sizes}},
                                        {"j", DType::f32, {dyn("B", 1, 8), 2, dyn("T", 0, 3)}}};
  const std::vector<std::string> texts = {"f32[64,2]", "f32[3,4]",  "f32[5,6]", "f32[]",
                                          "f32[0]",    "f32[7]",    "f32[]",    "f32[2,9]",
                                          "f32[3,4]",  "f32[B,2,T]"};
  for (size_t k = 0; k < specs.size(); ++k) EXPECT_EQ(spec_text(specs[k]), texts[k]);
  const std::vector<int64_t>& largest = specs.back().shape;
  EXPECT_EQ(largest, (std::vector<int64_t>{8, 2, 3}));
  EXPECT_FALSE((std::convertible_to<bool, InputDim>));
  EXPECT_FALSE((std::convertible_to<double, InputDim>));
}

TEST(InputSizes, are_read_from_the_inputs_of_a_run) {
  const InputSizes sizes = sizes_of({{"x", DType::f32, {dyn("B", 1, 64), 2, dyn("T", 0, 3)}},
                                     {"y", DType::f32, {dyn("B", 1, 64)}}});
  EXPECT_TRUE(sizes.vary());
  std::vector<int64_t> given;
  EXPECT_EQ(read_failure(sizes, {f32_zeros({7, 2, 0}), f32_zeros({7})}, &given), "no error");
  EXPECT_EQ(given, (std::vector<int64_t>{7, 0}));
  EXPECT_EQ(sizes.text(given), "B=7,T=0");
  EXPECT_EQ(sizes.largest(), (std::vector<int64_t>{64, 3}));
  const std::vector<InputSpec> specs = sizes.at(given);
  EXPECT_EQ(spec_text(specs[0]), "f32[7,2,0]");
  EXPECT_EQ(spec_text(specs[1]), "f32[7]");
}

TEST(InputSizes, an_input_that_does_not_fit_is_named) {
  const InputSizes sizes =
      sizes_of({{"x", DType::f32, {dyn("B", 2, 64), 2}}, {"y", DType::f32, {dyn("B", 2, 64)}}});
  EXPECT_EQ(read_failure(sizes, {f32_zeros({7, 2}), f32_zeros({8})}),
            "compile: B is 7 in input 0 `x` (dim 0) and 8 in input 1 `y` (dim 0)");
  EXPECT_EQ(read_failure(sizes, {f32_zeros({65, 2}), f32_zeros({65})}),
            "compile: input 0 `x` (dim 0): B is 65, expected 2 to 64: got f32[65,2]");
  EXPECT_EQ(read_failure(sizes, {f32_zeros({1, 2}), f32_zeros({1})}),
            "compile: input 0 `x` (dim 0): B is 1, expected 2 to 64: got f32[1,2]");
  EXPECT_EQ(read_failure(sizes, {f32_zeros({7, 3}), f32_zeros({7})}),
            "compile: input 0 `x`: got f32[7,3] on cpu, expected f32[B,2] on cpu");
  EXPECT_EQ(read_failure(sizes, {f32_zeros({7, 2}), f32_zeros({7, 1})}),
            "compile: input 1 `y`: got f32[7,1] on cpu, expected f32[B] on cpu");
  EXPECT_EQ(read_failure(sizes, {HostTensor(DType::f64, {7, 2}), f32_zeros({7})}),
            "compile: input 0 `x`: got f64[7,2] on cpu, expected f32[B,2] on cpu");
  EXPECT_EQ(read_failure(sizes, {f32_zeros({7, 2})}),
            "compile: 1 inputs were given, expected 2: x: f32[B,2], y: f32[B]");
}

TEST(InputSizes, specs_that_say_nothing_possible_are_refused) {
  EXPECT_EQ(refused({{"x", DType::f32, {2, -1}}}),
            "compile: input `x`: dim 1 is negative: f32[2,-1]; sizes are static; give one that "
            "varies by name and bounds, as dyn(\"B\", 1, 64)");
  EXPECT_EQ(
      refused({{"x", DType::f32, {dyn("B", 1, 64)}}, {"y", DType::f32, {3, dyn("B", 1, 32)}}}),
      "compile: B is 1 to 64 in input 0 `x` (dim 0) and 1 to 32 in input 1 `y` (dim 1); one "
      "name has the same bounds everywhere");
  EXPECT_EQ(
      refused({{"x", DType::f32, {dyn("B", 4, 3)}}}),
      "compile: input `x`: dim 0 is dyn(\"B\", 4, 3), expected a name and 0 <= least <= most");
  EXPECT_EQ(refused({{"x", DType::f32, {dyn("", 1, 3)}}}),
            "compile: input `x`: dim 0 is dyn(\"\", 1, 3), expected a name and 0 <= least <= most");
  EXPECT_EQ(
      refused({{"x", DType::f32, {dyn("B", -1, 3)}}}),
      "compile: input `x`: dim 0 is dyn(\"B\", -1, 3), expected a name and 0 <= least <= most");
}

}  // namespace
}  // namespace cleave
