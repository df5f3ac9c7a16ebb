// The laws for lists of operands of other lengths than the samples': 0, 1, 2, around 16 (the lanes
// of a vector register), around the number of copies that one kernel makes, and many. Covers every
// operator that has a sample with a list that may be longer.
#include <gtest/gtest.h>

#include "test/law/laws.h"
#include "test/random_inputs.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

using test::core;

constexpr size_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 200};
constexpr size_t samples_each = 4;   // of an operator, spread over all of its samples
constexpr int64_t max_elements = 8;  // of an operand: there are many

// The sample with its list repeated to `length` operands; nullopt: it has none.
std::optional<Sample> lengthened(const Sample& sample, size_t length) {
  Sample out = sample;
  bool any = false;
  for (SampleOperand& operand : out.operands) {
    if (!operand.is_list) continue;
    std::vector<SampleTensor> tensors;
    for (size_t k = 0; k < length && !operand.tensors.empty(); ++k)
      tensors.push_back(operand.tensors[k % operand.tensors.size()]);
    any = any || !tensors.empty() || length == 0;
    operand.tensors = std::move(tensors);
  }
  return any ? std::optional(out) : std::nullopt;
}

bool is_small(const Sample& sample) {
  for (const SampleOperand& operand : sample.operands)
    for (const SampleTensor& t : operand.tensors)
      if (!t.type.is_static() || numel_of(static_shape(t.type)) > max_elements) return false;
  return true;
}

// Whether infer and the reference accept the sample (the reference may refuse an index). Its
// contents are those of sample `index`.
bool is_accepted(const OpDef& op, const Sample& sample, size_t index) {
  for (const Floats floats : {Floats::own, Floats::f64}) {
    Graph g;
    Arrays inputs;
    const auto call = add_sample(g, op, sample, index, floats, "s", inputs);
    if (!call.ok()) return false;
    if (g.node(call->node).output_count == 0) return false;  // nothing to compare
    g.add_return({g.node(call->node).out(0)});
    std::vector<const Array*> in;
    for (const Array& a : inputs) in.push_back(&a);
    if (op.reference.present() && !interpret(g, in).ok()) return false;
  }
  return true;
}

// The entry with samples of that many operands alone.
OpDef with_lists(const OpDef& op, size_t length) {
  OpDef out = op;
  Samples fit, taken;
  for (const Sample& sample : op.samples())
    if (const auto longer = lengthened(sample, length); longer && is_small(sample))
      fit.push_back(*longer);
  for (size_t k = 0; k < fit.size(); k += std::max<size_t>(1, fit.size() / samples_each))
    if (is_accepted(op, fit[k], taken.size())) taken.push_back(fit[k]);
  out.samples = [taken] { return taken; };
  out.rejects = {};
  return out;
}

class Lists : public testing::TestWithParam<std::string> {};

TEST_P(Lists, of_any_length) {
  const OpDef& op = *core().find(GetParam());
  size_t checked = 0;
  for (const size_t length : lengths) {
    const OpDef longer = with_lists(op, length);
    checked += longer.samples().size();
    for (const Status& s : {infer_law(longer), decompose_law(core(), longer),
                            text_law(core(), longer), lowered_law(core(), longer)})
      ASSERT_TRUE(s.ok()) << length << " operands: " << s.failure().message;
    if (length > 17) continue;
    const Status s = grad_law(core(), longer);
    ASSERT_TRUE(s.ok()) << length << " operands: " << s.failure().message;
  }
  if (GetParam() == "cat" || GetParam() == "stack") {
    EXPECT_GE(checked, samples_each * std::size(lengths));
  }
}

// An empty list is accepted by infer, reference and kernels alike, or refused by infer.
TEST_P(Lists, of_nothing) {
  const OpDef& op = *core().find(GetParam());
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k) {
    const auto empty = lengthened(samples[k], 0);
    if (!empty) continue;
    Graph g;
    Arrays inputs;
    const auto call = add_sample(g, op, *empty, k, Floats::own, "s", inputs);
    if (call.ok()) continue;
    EXPECT_EQ(call.failure().kind, ErrorKind::user) << "sample " << k << call.failure().message;
  }
  const OpDef none = with_lists(op, 0);
  for (const Status& s : {infer_law(none), lowered_law(core(), none)})
    EXPECT_TRUE(s.ok()) << s.failure().message;
}

std::vector<std::string> with_list_operand() {
  std::vector<std::string> out;
  for (const auto& op : core().all())
    if (op->schema.list_operand >= 0) out.push_back(op->name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(, Lists, testing::ValuesIn(with_list_operand()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cleave::law
