// Long lists of operands: the code that is compiled doesn't grow with the list.
// tests: lower_copy.cpp
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "exec/executable.h"
#include "lower/lower_graph.h"
#include "test/random_inputs.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

using test::core;

// sizes: of the operands, in turns.
std::string join_text(const std::string& op, int operands, const std::vector<int>& sizes,
                      const std::string& dim) {
  std::string placeholders, list;
  for (int k = 0; k < operands; ++k) {
    const int size = sizes[static_cast<size_t>(k) % sizes.size()];
    placeholders += fmt::format("{}%x{}: input f32[3,{}]", k ? ", " : "", k, size);
    list += fmt::format("{}%x{}", k ? ", " : "", k);
  }
  return fmt::format("graph @main({}) {{\n  %y = {}([{}]; dim={})\n  return %y\n}}\n", placeholders,
                     op, list, dim);
}

// Bytes of C text that a program is compiled from.
uintmax_t text_bytes(const std::string& text) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("many_operands_{}", getpid());
  StageOptions options;
  options.dump_dir = folder;
  value_or_throw(CompiledProgram::compile(test::parsed(text), core(), options));
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".c") bytes += file.file_size();
  std::filesystem::remove_all(folder);
  return bytes;
}

TEST(ManyOperands, are_few_functions) {
  for (const auto& [op, dim] : {std::pair("cat", "0"), {"cat", "1"}, {"stack", "0"}}) {
    const uintmax_t few = text_bytes(join_text(op, 200, {16}, dim));
    const uintmax_t many = text_bytes(join_text(op, 2000, {16}, dim));
    EXPECT_GT(few, 100U);
    EXPECT_LT(many, 2 * few) << op << " " << dim;
  }
  // Of ten sizes: not ten thousand functions.
  const std::vector<int> sizes = {1, 2, 3, 5, 8, 16, 17, 33, 64, 100};
  EXPECT_LT(text_bytes(join_text("cat", 2000, sizes, "1")), 100000U);
}

TEST(ManyOperands, are_joined_as_the_oracle_says) {
  for (const char* op : {"cat", "stack"})
    for (const char* dim : {"0", "1"}) {
      const bool is_ragged = std::string(op) == "cat" && std::string(dim) == "1";
      const Graph g = test::parsed(
          join_text(op, 300, is_ragged ? std::vector<int>{1, 5, 17, 2, 40} : std::vector{5}, dim));
      const auto named = test::random_inputs(g);
      Arrays inputs;
      for (const Placeholder& p : g.placeholders()) inputs.push_back(named.at(g.name(p.value)));
      const Arrays want = value_or_throw(interpret(g, named));
      const Arrays got = value_or_throw(law::run_graph(g, core(), inputs));
      EXPECT_EQ(test::mismatch(got[0], want[0], 1e-6), "") << op << " " << dim;
    }
}

TEST(ManyOperands, without_elements_are_no_step) {
  Graph g = test::parsed(join_text("cat", 100, {0}, "1"));
  const LoweredProgram p = value_or_throw(lower_graph(g));
  EXPECT_TRUE(p.steps.empty());
  const Arrays got =
      value_or_throw(law::run_graph(g, core(), Arrays(100, Array(DType::f32, {3, 0}))));
  EXPECT_EQ(got[0].shape, (std::vector<int64_t>{3, 0}));
}

}  // namespace
}  // namespace cleave
