// The bytes that kernels move, from their loops: cases with a limit each (traffic_cases.clv).
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <sstream>

#include "grad/grad.h"
#include "inspect/program_traffic.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave {
namespace {

struct Case {
  std::string id, graph;
  double limit = 0, unreached = 0;  // unreached: what is moved now, above the limit
  bool grad = false;
};

std::vector<Case> cases() {
  std::ifstream file(std::string(CLEAVE_SOURCE_DIR) + "/test/inspect/traffic_cases.clv");
  std::vector<Case> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      std::istringstream words(line.substr(3));
      Case c;
      std::string word;
      words >> c.id >> c.limit >> word;
      c.grad = word == "grad";
      if (word == "unreached") words >> c.unreached;
      out.push_back(std::move(c));
    } else if (!out.empty()) {
      out.back().graph += line + "\n";
    }
  }
  return out;
}

// What GoogleTest prints of a case.
void PrintTo(const Case& c, std::ostream* out) { *out << c.id; }

class Traffic : public testing::TestWithParam<Case> {};

TEST_P(Traffic, is_within_its_limit) {
  const Case& c = GetParam();
  const OpRegistry ops = value_or_throw(core_ops());
  Graph g = value_or_throw(parse(c.graph, "case", ops)).main;
  if (c.grad) g = value_or_throw(make_joint(g, ops));
  const auto elements =
      static_cast<double>(total_bytes(value_or_throw(program_traffic(g, ops)).kernels));
  EXPECT_GT(elements, 0);
  if (c.unreached == 0) {
    EXPECT_LE(elements / 4, c.limit);
    return;
  }
  EXPECT_GT(elements / 4, c.limit) << "reached: say so in traffic_cases.clv";
  EXPECT_LE(elements / 4, c.unreached);
  GTEST_SKIP() << c.id << " moves " << elements / 4 << " elements, its limit is " << c.limit;
}

INSTANTIATE_TEST_SUITE_P(Cases, Traffic, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.id; });

}  // namespace
}  // namespace cleave
