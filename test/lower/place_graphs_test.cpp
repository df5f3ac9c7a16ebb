// Random graphs with many cats, against the oracle and under memory budgets: values that are
// written directly into parts of other values.
#include <gtest/gtest.h>

#include <random>

#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/check_budgets.h"
#include "test/sample/check_graph.h"

namespace cleave::random {
namespace {

// Values f32[rows,8], of which most calls make others.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(static_cast<uint32_t>(seed)) {}

  std::string graph() {
    text_ =
        "graph @g(%x: input f32[8,8] grad, %y: input f32[4,8] grad, %w: param f32[8,8] grad, "
        "%w2: param f32[16,8] grad, %t: buffer f32[16,8]) {\n";
    values_ = {{"x", 8}, {"y", 4}, {"t", 16}};
    const int calls = 8 + below(14);
    for (int k = 0; k < calls; ++k) call();
    std::string returns = "  return";
    for (int k = 0; k < 3; ++k) {
      const Value& v = values_[values_.size() - 1 - static_cast<size_t>(below(4))];
      returns += fmt::format("{} %{}", k ? "," : "", v.name);
    }
    for (size_t k = values_.size(); k-- > 3;)
      if (values_[k].rows == 16 && below(2)) {
        returns += fmt::format(", %{} -> %t", values_[k].name);
        break;
      }
    return text_ + returns + "\n}\n";
  }

 private:
  struct Value {
    std::string name;
    int rows = 0;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  // New ones more often.
  Value any() {
    const auto n = static_cast<int>(values_.size());
    return values_[static_cast<size_t>(std::max(below(n), below(n)))];
  }
  Value like(int rows) {
    for (int tries = 0; tries < 20; ++tries)
      if (const Value v = any(); v.rows == rows) return v;
    return {};
  }
  std::string fresh() { return fmt::format("v{}", next_++); }
  std::string line(const std::string& call) {
    std::string name = fresh();
    text_ += fmt::format("  %{} = {}\n", name, call);
    return name;
  }
  void make(const std::string& call, int rows) { values_.push_back({line(call), rows}); }

  void call() {
    const Value v = any();
    switch (below(12)) {
      case 0: return make(fmt::format("tanh(%{})", v.name), v.rows);
      case 1:
      case 2: return make(fmt::format("mm(%{}, %w)", v.name), v.rows);
      case 3:
        return make(fmt::format("_softmax(%{}; dim=-1, half_to_float=false)", v.name), v.rows);
      case 4: return make(fmt::format("mean(%{}; dim=[0], keepdim=true)", v.name), 1);
      case 5: return sum(v);
      case 6: return slice(v);
      case 7: return transpose_heads(v);
      case 8: return beside(v);
      default: return cat();
    }
  }
  void sum(const Value& v) {
    const Value o = like(v.rows);
    if (o.rows) make(fmt::format("add(%{}, %{})", v.name, o.name), v.rows);
  }
  void slice(const Value& v) {
    if (v.rows % 4 != 0 || v.rows < 8) return;
    const int from = below(2) * v.rows / 2;
    make(fmt::format("slice(%{}; dim=0, start={}, end={})", v.name, from, from + v.rows / 2),
         v.rows / 2);
  }
  // Rows of 4 in another order, as heads are.
  void transpose_heads(const Value& v) {
    if (v.rows % 4 != 0) return;
    const std::string a = line(fmt::format("view(%{}; size=[{},4,8])", v.name, v.rows / 4));
    const std::string b = line(fmt::format("permute(%{}; dims=[1,0,2])", a));
    make(fmt::format("view(%{}; size=[{},8])", b, v.rows), v.rows);
  }
  void beside(const Value& v) {
    const Value o = like(v.rows);
    if (!o.rows) return;
    const std::string both = line(fmt::format("cat([%{}, %{}]; dim=1)", v.name, o.name));
    make(fmt::format("mm(%{}, %w2)", both), v.rows);
  }
  void cat() {
    std::string list;
    int rows = 0;
    for (int k = 0, n = 2 + below(3); k < n; ++k) {
      const Value v = any();
      if (rows + v.rows > 48) break;
      list += fmt::format("{}%{}", rows ? ", " : "", v.name);
      rows += v.rows;
    }
    if (rows) make(fmt::format("cat([{}])", list), rows);
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<Value> values_;
  int next_ = 0;
};

RandomGraph random_cats(const OpRegistry& ops, uint64_t seed) {
  RandomGraph r{value_or_throw(parse(Writer(seed).graph(), "test", ops)).main, {}};
  for (const Placeholder& p : r.g.placeholders())
    r.inputs.push_back(law::random_weights(r.g.type(p.value), seed++));
  return r;
}

constexpr uint64_t first = 300, graphs = 30;

TEST(PlaceGraphs, compute_what_they_say) {
  const OpRegistry ops = value_or_throw(core_ops());
  for (uint64_t seed = first; seed < first + graphs; ++seed) {
    const RandomGraph r = random_cats(ops, seed);
    for (const RandomGraph& g : {r, value_or_throw(with_gradients(r, ops, seed))}) {
      const Result<Verdict> v = check_graph(g, ops, CompilerChoice::none);
      ASSERT_TRUE(v.ok()) << v.failure().message << "\n" << print(g.g);
      EXPECT_EQ(v->difference, "") << "seed " << seed << "\n" << print(g.g);
    }
  }
}

TEST(PlaceGraphs, have_the_same_bits_in_any_memory) {
  const OpRegistry ops = value_or_throw(core_ops());
  for (uint64_t seed = first; seed < first + graphs; ++seed) {
    const RandomGraph r = value_or_throw(with_gradients(random_cats(ops, seed), ops, seed));
    const Result<BudgetVerdict> v = check_budgets(r, ops, {0, 0.3, 0.7, 1});
    ASSERT_TRUE(v.ok()) << v.failure().message << "\n" << print(r.g);
    EXPECT_EQ(v->violation, "") << "seed " << seed << "\n" << print(r.g);
  }
}

}  // namespace
}  // namespace cleave::random
