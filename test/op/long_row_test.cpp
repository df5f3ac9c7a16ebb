// Rows long enough that their loops are split (schedule/partition_loops.h): windows, borders and
// pieces beside the oracle, in every dtype that they move.
#include <gtest/gtest.h>

#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

struct Row {
  std::string shape, call, result;
  bool of_integers = true;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.call << " of " << row.shape; }

class LongRow : public testing::TestWithParam<Row> {};

TEST_P(LongRow, is_as_the_oracle_has_it) {
  const auto& [shape, call, result, of_integers] = GetParam();
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::u8}) {
    if (!is_floating(t) && !of_integers) continue;
    const std::string name(name_of(t));
    const std::string text =
        fmt::format("graph @main(%x: input {}{}) {{\n  {} : {}{}\n  return %y\n}}\n", name, shape,
                    call, name, result);
    std::vector<int64_t> sizes;
    for (size_t at = 1; at < shape.size(); at = shape.find_first_of(",]", at) + 1)
      sizes.push_back(std::stoll(shape.substr(at)));
    by_both(text, {{"x", counting(t, sizes)}}, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Moves, LongRow,
    testing::Values(Row{"[3,37]", "%y = constant_pad_nd(%x; pad=[3,2], value=1)", "[3,42]"},
                    Row{"[3,37]", "%y = constant_pad_nd(%x; pad=[-3,18,1,0], value=1)", "[4,52]"},
                    Row{"[2,40]", "%y = cat([%x, %x, %x]; dim=1)", "[2,120]"},
                    Row{"[2,33]", "%y = flip(%x; dims=[1])", "[2,33]"},
                    Row{"[1,2,35]", "%y = reflection_pad1d(%x; padding=[5,20])", "[1,2,60]", false},
                    Row{"[1,2,35]", "%y = replication_pad1d(%x; padding=[1,2])", "[1,2,38]",
                        false}));

struct Windows {
  const char* attributes;
  const char* result;
};

TEST(LongRow, of_windows_is_as_the_oracle_has_it) {
  for (const Windows& w :
       {Windows{"kernel_size=[3,3], stride=[2,2], padding=[1,1], dilation=[1,1]", "[2,3,38]"},
        Windows{"kernel_size=[2,5], stride=[1,3], padding=[0,2], dilation=[2,1]", "[2,3,25]"},
        Windows{"kernel_size=[1,3], stride=[1,1], padding=[0,1], dilation=[1,1]", "[2,5,75]"}})
    for (const DType t : {DType::f32, DType::bf16, DType::i64}) {
      const Array x = is_floating(t) ? scattered(t, {2, 5, 75}, 7) : counting(t, {2, 5, 75});
      const std::string text = fmt::format(
          "graph @main(%x: input {0}[2,5,75]) {{\n"
          "  %y, %i = max_pool2d_with_indices(%x; {1}, ceil_mode=false) : "
          "{0}{2}, i64{2}\n  return %y, %i\n}}\n",
          name_of(t), w.attributes, w.result);
      by_both(text, {{"x", x}}, 0);
    }
}

// Planes enough to be scattered, and indices of no element.
TEST(LongRow, of_windows_in_the_padding_have_no_gradient) {
  Array indices(DType::i64, {4, 2, 1, 1});
  for (int64_t k = 0; k < indices.numel(); ++k) indices.set_int(k, k % 3 == 0 ? 1000 : -k);
  by_both(
      "graph @main(%g: input f32[4,2,1,1], %x: input f32[4,2,1,1], %i: input i64[4,2,1,1]) {\n"
      "  %y = max_pool2d_with_indices_backward(%g, %x, %i; kernel_size=[2], stride=[2], "
      "padding=[1], dilation=[2], ceil_mode=false) : f32[4,2,1,1]\n  return %y\n}\n",
      {{"g", scattered(DType::f32, {4, 2, 1, 1}, 1)},
       {"x", scattered(DType::f32, {4, 2, 1, 1}, 2)},
       {"i", indices}},
      0);
}

}  // namespace
}  // namespace cleave::test
