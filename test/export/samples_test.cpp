// Every sample of every operator, written as ONNX and read back: the oracle's results are the same.
// tests: exporter.cpp call.cpp rules.cpp unary_rules.cpp arithmetic_rules.cpp quotient_rules.cpp
// tests: compare_rules.cpp convert_rules.cpp shape_rules.cpp constructor_rules.cpp index_rules.cpp
// tests: view_rules.cpp put_rules.cpp scatter_rules.cpp reduce_rules.cpp sort_rules.cpp
// tests: product_rules.cpp
// tests: convolution_rules.cpp mean_pool_rules.cpp max_pool_rules.cpp windows.cpp resize_rules.cpp
// tests: pad_rules.cpp norm_rules.cpp
// tests: control_rules.cpp
#include <algorithm>
#include <set>

#include "test/export/exported.h"
#include "test/sample/sample_call.h"

namespace cleave::to_onnx {
namespace {

// Of numbers that the program rounds to narrow types on the way.
double tolerance_of(DType t) {
  switch (t) {
    case DType::bf16: return 2e-2;
    case DType::f16: return 2e-3;
    default: return 2e-6;
  }
}

struct Outcome {
  bool written = false;
  std::string refused, wrong;
};

// The oracle doesn't round f32, nor does a conversion to it: where f64 meets f32, a comparison
// isn't that of the rounded number once the rounding is a Cast.
bool compares_unrounded(const OpDef& op, const Graph& g) {
  constexpr std::string_view comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  if (std::ranges::find(comparisons, op.name) == std::end(comparisons)) return false;
  bool f64 = false, f32 = false;
  for (const Placeholder& p : g.placeholders()) {
    f64 = f64 || g.type(p.value).dtype == DType::f64;
    f32 = f32 || g.type(p.value).dtype == DType::f32;
  }
  return f64 && f32;
}

std::string difference_of(const Graph& g, const Arrays& want, const Arrays& got) {
  if (want.size() != got.size())
    return fmt::format("{} results, expected {}", got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    const std::string why = law::difference(got[k], want[k], tolerance_of(want[k].dtype));
    if (!why.empty()) return fmt::format("{} {}", g.name(g.returns()[k].value), why);
  }
  return "";
}

Outcome outcome_of(const OpDef& op, const Sample& sample, size_t index) {
  Outcome out;
  Graph g;
  Arrays inputs;
  const auto call = law::add_sample(g, op, sample, index, law::Floats::own, "s", inputs);
  if (!call.ok()) return {false, "", call.failure().message};
  const Node& node = g.node(call->node);
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!g.type(node.out(k)).is_none) g.add_return({node.out(k), ReturnKind::result, {}});
  const Result<ExportedModel> m = export_onnx(g, registry());
  if (!m.ok()) {
    if (m.failure().kind == ErrorKind::unsupported)
      out.refused = m.failure().message;
    else
      out.wrong = m.failure().message;
    return out;
  }
  out.written = true;
  std::map<std::string, Array> given;
  std::vector<const Array*> in;
  for (size_t k = 0; k < inputs.size(); ++k) {
    given[g.name(g.placeholders()[k].value)] = inputs[k];
    in.push_back(&inputs[k]);
  }
  const Result<Arrays> want = interpret(g, in);
  const Result<Arrays> got = results_of(m->model, given);
  if (!want.ok())
    out.wrong = want.failure().message;
  else if (!got.ok())
    out.wrong = got.failure().message;
  else if (!compares_unrounded(op, g))
    out.wrong = difference_of(g, *want, *got);
  return out;
}

TEST(ExportedSamples, ReadBackGiveTheSameResults) {
  std::set<std::string> covered, refused;
  int64_t samples = 0;
  for (const auto& op : registry().all()) {
    const Samples all = op->samples();
    for (size_t k = 0; k < all.size(); ++k) {
      const Outcome o = outcome_of(*op, all[k], k);
      EXPECT_EQ(o.wrong, "") << op->name << ", sample " << k;
      if (o.written) covered.insert(op->name), ++samples;
      if (o.refused.empty()) continue;
      refused.insert(op->name);
      EXPECT_NE(o.refused.find("calls can't be written"), std::string::npos) << o.refused;
    }
  }
  RecordProperty("covered", static_cast<int>(covered.size()));
  for (const std::string& name : covered) refused.erase(name);
  std::string names;
  for (const std::string& name : refused) names += name + " ";
  std::printf("%zu operators, %ld samples; refused: %s\n", covered.size(), samples, names.c_str());
  EXPECT_GE(covered.size(), 200u);
}

}  // namespace
}  // namespace cleave::to_onnx
