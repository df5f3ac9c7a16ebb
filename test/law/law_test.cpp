// The generic laws over every entry of src/op: one test for each law and operator.
#include <gtest/gtest.h>

#include "test/law/laws.h"
#include "test/random_inputs.h"

namespace cleave::law {
namespace {

using test::core;

class Law : public testing::TestWithParam<std::string> {
 protected:
  const OpDef& op() const { return *core().find(GetParam()); }
};

void expect_holds(const Status& s) { EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.failure().message); }

TEST_P(Law, entry) { expect_holds(entry_law(op())); }
TEST_P(Law, infer) { expect_holds(infer_law(op())); }
TEST_P(Law, decompose) { expect_holds(decompose_law(core(), op())); }
TEST_P(Law, text) { expect_holds(text_law(core(), op())); }
TEST_P(Law, reject) { expect_holds(reject_law(op())); }
TEST_P(Law, grad) {
  expect_holds(grad_law(core(), op()));
  if (!op().grad.present() || !op().reference.present()) return;
  EXPECT_GT(grad_samples(core(), op()), 0) << "no sample can be compared with differences";
}

INSTANTIATE_TEST_SUITE_P(, Law, testing::ValuesIn(op_names(core())),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cleave::law
