#include "test/sample/branch_graph.h"

#include <random>

#include "ir/text.h"

namespace cleave::random {
namespace {

constexpr int operands = 3;  // of each graph, f[4]
constexpr int elements = 4;

class Writer {
 public:
  Writer(uint64_t seed, const BranchOptions& options)
      : random_(static_cast<uint32_t>(seed)), options_(options) {}

  std::string text() {
    text_ = fmt::format(
        "graph @below(%n: input i64[], %a: input {0}) {{\n  %f = lt(%n; other=2)\n"
        "  return %f\n}}\n"
        "graph @next(%n: input i64[], %a: input {0}) {{\n  %m = add(%n; other=1)\n"
        "  %b = mul(%a; other=0.5)\n  return %m, %b\n}}\n",
        type());
    for (int level = 0; level < options_.levels; ++level)
      for (int k = 0; k < options_.graphs; ++k) graph(level, fmt::format("l{}_{}", level, k), "");
    graph(options_.levels, "main", " grad");
    return text_;
  }

 private:
  int below(int n) { return std::uniform_int_distribution(0, n - 1)(random_); }
  std::string type() const { return fmt::format("{}[{}]", name_of(options_.dtype), elements); }
  const std::string& any() { return values_[static_cast<size_t>(below(std::ssize(values_)))]; }
  std::string fresh() { return fmt::format("%v{}", next_++); }
  void line(const std::string& text) { text_ += "  " + text + "\n"; }

  void graph(int level, const std::string& name, const char* grad) {
    values_.clear();
    next_ = 0;
    text_ += fmt::format("graph @{}(", name);
    for (int k = 0; k < operands; ++k) {
      text_ += fmt::format("{}%a{}: input {}{}", k ? ", " : "", k, type(), grad);
      values_.push_back(fmt::format("%a{}", k));
    }
    text_ += ") {\n";
    smooth();
    if (options_.loops && below(4) == 0) loop();
    for (int k = 0, n = level == 0 ? 0 : 1 + below(options_.max_conds); k < n; ++k) cond(level);
    smooth();
    text_ += fmt::format("  return {}, {}\n}}\n", values_.back(), any());
  }

  // Of values around 1, values around 1.
  void smooth() {
    const std::string v = fresh();
    switch (below(4)) {
      case 0: line(fmt::format("{} = sin({})", v, any())); break;
      case 1: line(fmt::format("{} = tanh({})", v, any())); break;
      case 2: line(fmt::format("{} = mul({}, {})", v, any(), any())); break;
      default: {
        const std::string sum = fresh();
        line(fmt::format("{} = add({}, {})", sum, any(), any()));
        line(fmt::format("{} = mul({}; other=0.5)", v, sum));
      }
    }
    values_.push_back(v);
  }

  // A loop has no gradient: it runs on what has none.
  void loop() {
    const std::string cut = fresh(), zero = fresh(), n = fresh(), looped = fresh(), v = fresh();
    line(fmt::format("{} = detach({})", cut, any()));
    line(fmt::format("{} = full(size=[], fill_value=0, dtype=i64)", zero));
    line(fmt::format("{}, {} = while_loop([{}, {}]; condition=@below, body=@next)", n, looped, zero,
                     cut));
    line(fmt::format("{} = add({}, {})", v, looped, any()));
    values_.push_back(v);
  }

  void cond(int level) {
    const std::string sum = fresh(), flag = fresh(), y = fresh(), z = fresh();
    line(fmt::format("{} = sum({})", sum, any()));
    line(fmt::format("{} = gt({}; other={})", flag, sum, below(2) == 0 ? "-1000.0" : "1000.0"));
    std::string list;
    for (int k = 0; k < operands; ++k) list += (k ? ", " : "") + any();
    const auto branch = [&] { return fmt::format("@l{}_{}", level - 1, below(options_.graphs)); };
    const std::string then = branch(), otherwise = branch();
    line(fmt::format("{}, {} = cond({}, [{}]; then={}, otherwise={})", y, z, flag, list, then,
                     otherwise));
    values_.push_back(y);
    if (below(2) == 0) values_.push_back(z);
  }

  std::mt19937 random_;
  const BranchOptions& options_;
  std::string text_;
  std::vector<std::string> values_;
  int next_ = 0;
};

}  // namespace

std::string branch_graph_text(uint64_t seed, const BranchOptions& options) {
  return Writer(seed, options).text();
}

RandomGraph branch_graph(const OpRegistry& ops, uint64_t seed, const BranchOptions& options) {
  RandomGraph r{value_or_throw(parse(branch_graph_text(seed, options), "branches", ops)).main, {}};
  for (const Placeholder& p : r.g.placeholders())
    r.inputs.push_back(law::random_weights(r.g.type(p.value), seed++));
  return r;
}

}  // namespace cleave::random
