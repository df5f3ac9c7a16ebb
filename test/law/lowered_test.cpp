// The law of compiled code over every entry of src/op, and toys that break it.
#include <gtest/gtest.h>

#include "op/entry.h"
#include "test/law/laws.h"
#include "test/random_inputs.h"
#include "test/targets.h"

namespace cleave::law {
namespace {

using test::core;

class Lowered : public testing::TestWithParam<std::string> {};

TEST_P(Lowered, values) {
  const Status s = lowered_law(core(), *core().find(GetParam()));
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.failure().message);
}

INSTANTIATE_TEST_SUITE_P(, Lowered, testing::ValuesIn(op_names(core())),
                         [](const auto& info) { return info.param; });

// The same for the targets below AVX-512, where this machine has more.
class LoweredFor : public testing::TestWithParam<std::tuple<Target, std::string>> {};

TEST_P(LoweredFor, values) {
  const auto& [target, name] = GetParam();
  const Status s = lowered_law(core(), *core().find(name), target);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.failure().message);
}

std::vector<Target> lesser() {
  std::vector<Target> out;
  for (const Target& t : test::targets_here())
    if (t.set < InstructionSet::avx512 && t.set < Target::here().set) out.push_back(t);
  return out;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LoweredFor);
INSTANTIATE_TEST_SUITE_P(, LoweredFor,
                         testing::Combine(testing::ValuesIn(lesser()),
                                          testing::ValuesIn(op_names(core()))),
                         [](const auto& info) {
                           return test::name_of(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

// sin under another name, lowered to sin(x) * factor.
std::string law_of_scaled_sin(double factor) {
  OpRegistry all = value_or_throw(core_ops());
  OpDef toy = *all.find("sin");
  toy.name = "toy_sin";
  toy.file.clear();  // not cleave's own
  toy.version = fmt::format("{}", factor);
  toy.lower = loop::pointwise([factor](const OpView& op, const loop::Exprs& x) {
    const loop::Expr y = loop::cast(x[0], loop::compute_type(op.out_type(0).dtype));
    return loop::unary(loop::Op::sin, y) * loop::constant(y.type(), factor);
  });
  value_or_throw(all.add(toy));
  const Status s = lowered_law(all, *all.find("toy_sin"));
  return s.ok() ? "" : s.failure().message;
}

TEST(LoweredToys, right_entry_keeps_the_law) { EXPECT_EQ(law_of_scaled_sin(1), ""); }

TEST(LoweredToys, other_values) {
  const std::string message = law_of_scaled_sin(1.0002);
  EXPECT_NE(message.find("compiled, it element"), std::string::npos) << message;
}

TEST(LoweredToys, a_reject_that_the_loops_accept) {
  OpRegistry all = value_or_throw(core_ops());
  OpDef toy = *all.find("sin");
  toy.name = "toy_sin";
  toy.file.clear();
  toy.version = "C1";
  toy.reference = [](const OpView&, std::span<const Array* const>) -> Result<Arrays> {
    return user_error("toy_sin: C1: refused");
  };
  toy.rejects = []() -> Rejects { return {{"C1", {{f32({2})}}, "toy_sin: C1: refused"}}; };
  value_or_throw(all.add(toy));
  const Status s = lowered_law(all, *all.find("toy_sin"));
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.failure().message.find("it is accepted"), std::string::npos) << s.failure().message;
}

}  // namespace
}  // namespace cleave::law
