// Indices out of range: both engines name the operator, the operand and the range, and nothing that
// the caller owns has changed.
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/sample/both_engines.h"
#include "test/targets.h"

namespace cleave::test {
namespace {

struct Case {
  std::string name, call, type;  // type of the index operand's contents below
  std::vector<int64_t> index;
  std::string message;  // how both engines begin; empty: legal
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class IndexError : public testing::TestWithParam<Case> {};

Inputs inputs_of(const Case& c) {
  const DType t = c.type == "i32" ? DType::i32 : DType::i64;
  return {{"x", counting(DType::f32, {5, 2})},
          {"v", counting(DType::f32, {2, 2})},
          {"i", ints(t, {2}, c.index)},
          {"j", ints(t, {2, 1}, c.index)}};
}

std::string text_of(const Case& c) {
  return "graph @main(%x: input f32[5,2], %v: input f32[2,2], %i: input " + c.type +
         "[2], %j: input " + c.type + "[2,1]) {\n  %y = " + c.call + "\n  return %y\n}\n";
}

TEST_P(IndexError, both_engines_say_the_same) {
  const Case& c = GetParam();
  const std::string by_loops = compiled_error(text_of(c), inputs_of(c));
  const std::string by_oracle = reference_error(text_of(c), inputs_of(c));
  const std::string want = c.message.empty() ? "no error" : c.message;
  EXPECT_EQ(by_loops.substr(0, want.size()), want);
  EXPECT_EQ(by_oracle.substr(0, want.size()), want);
}

std::vector<Case> cases() {
  std::vector<Case> out;
  const auto add = [&](const std::string& name, const std::string& call, const std::string& what,
                       bool from_end) {
    out.push_back({name + "_above",
                   call,
                   "i64",
                   {0, 5},
                   what + ": index 5 is out of range [" + (from_end ? "-5" : "0") + ", 5)"});
    out.push_back(
        {name + "_far",
         call,
         "i64",
         {int64_t{1} << 40, 0},
         what + ": index 1099511627776 is out of range [" + (from_end ? "-5" : "0") + ", 5)"});
    out.push_back({name + "_below",
                   call,
                   "i32",
                   {4, from_end ? -6 : -1},
                   what + ": index " + (from_end ? "-6" : "-1") + " is out of range [" +
                       (from_end ? "-5" : "0") + ", 5)"});
    out.push_back({name + "_last", call, "i64", {4, from_end ? -5 : 0}, ""});
  };
  add("embedding", "embedding(%x, %i)", "embedding: indices", false);
  add("embedding_dense_backward",
      "embedding_dense_backward(%v, %i; num_weights=5, padding_idx=-1, scale_grad_by_freq=false)",
      "embedding_dense_backward: indices", false);
  add("gather", "gather(%x, %j; dim=0)", "gather: index", false);
  add("index_select", "index_select(%x, %i; dim=0)", "index_select: index", false);
  add("scatter", "scatter(%x, %j, %v; dim=0)", "scatter: index", false);
  add("scatter_value", "scatter(%x, %j; dim=0, value=1.0)", "scatter: index", false);
  add("scatter_add", "scatter_add(%x, %j, %v; dim=0)", "scatter_add: index", false);
  add("index", "index(%x, [%i])", "index: indices[0]", true);
  add("index_put", "index_put(%x, [%i], %v)", "index_put: indices[0]", true);
  add("index_put_accumulate", "index_put(%x, [%i], %v; accumulate=true)", "index_put: indices[0]",
      true);
  return out;
}

INSTANTIATE_TEST_SUITE_P(, IndexError, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(IndexErrors, the_operand_of_a_list_is_named) {
  const Inputs in = {{"x", counting(DType::f32, {2, 3, 4})},
                     {"i", ints(DType::i64, {1}, {1})},
                     {"j", ints(DType::i64, {1}, {3})}};
  const std::string text =
      "graph @main(%x: input f32[2,3,4], %i: input i64[1], %j: input i64[1]) {\n"
      "  %y = index(%x, [%i, %j])\n  return %y\n}\n";
  const std::string want = "index: indices[1]: index 3 is out of range [-3, 3)";
  EXPECT_EQ(reference_error(text, in).substr(0, want.size()), want);
  EXPECT_EQ(compiled_error(text, in).substr(0, want.size()), want);
}

TEST(IndexErrors, a_dim_of_size_0_has_no_index) {
  const Inputs in = {{"x", counting(DType::f32, {0})}, {"i", ints(DType::i64, {1}, {0})}};
  const std::string text =
      "graph @main(%x: input f32[0], %i: input i64[1]) {\n  %y = index(%x, [%i])\n  return %y\n}\n";
  const std::string want = "index: indices[0]: index 0 is out of range";
  EXPECT_EQ(reference_error(text, in).substr(0, want.size()), want);
  EXPECT_EQ(compiled_error(text, in).substr(0, want.size()), want);
}

TEST(IndexErrors, an_update_does_not_happen) {
  // The update of m stands before the failing call, and is not made either.
  const std::string text =
      "graph @main(%m: buffer f32[4], %w: param f32[5,2], %i: input i64[3], %v: input f32[3,2]) {\n"
      "  %m2 = add(%m; other=1.0)\n"
      "  %w2 = index_put(%w, [%i], %v; accumulate=true)\n"
      "  return %m2 -> %m, %w2 -> %w\n}\n";
  Inputs in = {{"m", counting(DType::f32, {4})},
               {"w", counting(DType::f32, {5, 2})},
               {"i", ints(DType::i64, {3}, {0, 1, 7})},
               {"v", counting(DType::f32, {3, 2})}};
  const CompiledRun failed = by_compiled(text, in);
  ASSERT_FALSE(failed.status.ok());
  EXPECT_EQ(failed.status.failure().kind, ErrorKind::user);
  EXPECT_EQ(failed.memory.at("m").f, in.at("m").f);
  EXPECT_EQ(failed.memory.at("w").f, in.at("w").f);
  in.at("i").i[2] = 1;
  const CompiledRun done = by_compiled(text, in);
  ASSERT_TRUE(done.status.ok()) << done.status.failure().message;
  EXPECT_EQ(done.memory.at("m").f, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(done.memory.at("w").f, (std::vector<double>{0, 2, 8, 11, 4, 5, 6, 7, 8, 9}));
}

// In rows of several vectors and a tail, on every instruction set: the first bad one is named.
TEST(IndexErrors, are_seen_in_each_lane) {
  constexpr int64_t size = 53;
  for (const Target& target : targets_here()) {
    auto f = compile([](const Tensor& x, const Tensor& i) { return gather(x, 1, i); },
                     {{"x", DType::f32, {3, 5}}, {"i", DType::i64, {3, size}}}, {.target = target});
    const HostTensor x(DType::f32, {3, 5});
    HostTensor i(DType::i64, {3, size});
    f.run({x, i});
    for (int64_t k = 0; k < 3 * size; ++k) {
      i.data<int64_t>()[k] = 7 + k;
      try {
        f.run({x, i});
        ADD_FAILURE() << target.text() << ": an index was accepted at " << k;
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(fmt::format("index {} is out of", 7 + k)),
                  std::string::npos)
            << target.text() << ": " << e.what();
      }
      i.data<int64_t>()[k] = 0;
    }
  }
}

TEST(IndexErrors, masks_are_unsupported) {
  const std::string text =
      "graph @main(%x: input f32[4], %m: input bool[4]) {\n  %y = index(%x, [%m])\n  return "
      "%y\n}\n";
  try {
    (void)by_compiled(text, {});
    FAIL() << "a mask was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(e.what()).find("src/op/index.cpp"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace cleave::test
