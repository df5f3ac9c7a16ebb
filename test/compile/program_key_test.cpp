// What the key of a program depends on: everything that decides on it, and nothing else.
#include "compile/program_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compile/option_table.h"
#include "op/registry.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

constexpr const char* whole = R"(
graph @body(%a: input f32[4]) {
  %b = exp(%a)  # net.cpp:3
  return %b
}
graph @main(%x: input f32[4], %w: param f32[4] grad, %p: input bool[]) {
  %y = mul(%x, %w)  # net.cpp:7
  %z = cond(%p, [%y]; then=@body, otherwise=@body)  # net.cpp:8
  %s = sum(%z; dim=[0])  # net.cpp:9
  return %s, %y -> %w
})";

std::string replaced(std::string all, const std::string& from, const std::string& to) {
  const size_t at = all.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) all.replace(at, from.size(), to);
  return all;
}

ProgramKey whole_key(const std::string& graph, const StageOptions& options = {},
                     const std::string& backend = "a backend") {
  return program_key(test::parsed(graph), test::core(), options, backend);
}
std::string key(const std::string& graph, const StageOptions& options = {},
                const std::string& backend = "a backend") {
  const ProgramKey k = whole_key(graph, options, backend);
  EXPECT_EQ(k.refusal, "");
  EXPECT_EQ(k.digest.size(), 64u);
  EXPECT_EQ(k.id, whole_key(graph, options, "wherever").id);
  EXPECT_EQ(k.id.size(), 8u);
  return k.digest;
}

TEST(ProgramKey, each_part_of_the_graph) {
  std::set<std::string> keys = {key(whole)};
  const std::pair<const char*, const char*> changes[] = {
      {"exp(%a)", "tanh(%a)"},                                     // in a subgraph
      {"%b = exp(%a)  # net.cpp:3", "%b = exp(%a)  # net.cpp:7"},  // two lines become one
      {"@main(", "@other("},
      {"%x: input f32[4]", "%x: input f32[4]{2}"},
      {"%x: input f32[4]", "%x: buffer f32[4]"},
      {"param f32[4] grad", "param f32[4]"},
      {"mul(%x, %w)", "mul(%w, %x)"},
      {"dim=[0]", "dim=[0], keepdim=true"},
      {"return %s, %y -> %w", "return %s"},
      {"return %s, %y -> %w", "return %s, %y"},
      {"# net.cpp:8", "!recompute(must_save)  # net.cpp:8"},
  };
  for (const auto& [from, to] : changes)
    EXPECT_TRUE(keys.insert(key(replaced(whole, from, to))).second) << from << " as " << to;
}

TEST(ProgramKey, not_where_its_lines_are) {
  std::string moved = whole;
  for (const auto& [from, to] :
       {std::pair("net.cpp:3", "lib/body.cpp:30"), std::pair("net.cpp:7", "net.cpp:17"),
        std::pair("net.cpp:8", "net.cpp:3"), std::pair("net.cpp:9", "a:1")})
    moved = replaced(moved, from, to);
  EXPECT_EQ(key(moved), key(whole));
  EXPECT_EQ(whole_key(moved).lines.lines(),
            (std::vector<std::string>{"lib/body.cpp:30", "net.cpp:17", "net.cpp:3", "a:1"}));
}

TEST(ProgramKey, each_option_that_decides) {
  const std::span<const std::string_view> in_none = options_in_no_key();
  for (const std::string_view name : in_none)
    EXPECT_NE(std::ranges::find(option_table(), name, &OptionRow::name), option_table().end());
  std::set<std::string> keys = {key(whole)};
  for (const OptionRow& row : option_table()) {
    if (row.owner != OptionOwner::compile || !row.has_text()) continue;
    const StageOptions options{CompileOptions::parse(fmt::format("{}={}", row.name, row.example))};
    const bool is_new = keys.insert(key(whole, options)).second;
    EXPECT_EQ(is_new, std::ranges::find(in_none, row.name) == in_none.end()) << row.name;
  }
}

TEST(ProgramKey, what_the_stages_are_told) {
  std::set<std::string> keys = {key(whole), key(whole, {}, "another backend")};
  StageOptions grad, results, cut, apart, part;
  grad.grad = true;
  results.forward_results = 1;
  cut.is_cut = true;
  apart.fuse = false;
  part.is_frozen_part = true;
  for (const StageOptions& o : {grad, results, cut, apart, part}) keys.insert(key(whole, o));
  EXPECT_EQ(keys.size(), 7u);
}

TEST(ProgramKey, each_part_of_a_rule) {
  const RewriteRule rule = {.name = "r", .text = "graph @search ...", .version = "1"};
  std::vector<RewriteRule> changed(11, rule);
  changed[1].name = "r ";
  changed[2].text += " ";
  changed[3].point = RulePoint::joint;
  changed[4].numbers = {{"scale", 0.25}};
  changed[5].dtypes = {DType::f32, DType::f64};
  changed[6].derive_backward = true;
  changed[7].any = {"y.dim"};
  changed[8].version = "2";
  changed[9].when = [](const RuleMatch&) { return true; };
  changed[10].make = [](const RuleMatch&) { return Tensors(); };
  std::set<std::string> keys = {key(whole)};
  for (const RewriteRule& r : changed) {
    StageOptions options;
    options.rules = {r};
    keys.insert(key(whole, options));
    options.rules = {rule, r};
    keys.insert(key(whole, options));
  }
  EXPECT_EQ(keys.size(), 23u);
}

TEST(ProgramKey, passes_of_the_host_program_by_version) {
  const FunctionPass pass = {.name = "p", .version = "1"};
  std::vector<FunctionPass> changed(4, pass);
  changed[1].name = "q";
  changed[2].version = "2";
  changed[3].point = RulePoint::joint;
  std::set<std::string> keys = {key(whole)};
  StageOptions options;
  for (const FunctionPass& p : changed) {
    options.functions = {p};
    keys.insert(key(whole, options));
  }
  EXPECT_EQ(keys.size(), 5u);
  options.functions = {pass, {.name = "loose"}};
  EXPECT_EQ(whole_key(whole, options).refusal, "loose has no version");
}

TEST(ProgramKey, rules_with_functions_by_version) {
  StageOptions options;
  options.rules = {{.name = "text"}};
  EXPECT_EQ(whole_key(whole, options).refusal, "");
  options.rules[0].when = [](const RuleMatch&) { return true; };
  EXPECT_EQ(whole_key(whole, options).refusal, "text has no version");
  options.rules[0].version = "1";
  EXPECT_EQ(whole_key(whole, options).refusal, "");
  options.rules[0] = {.name = "made", .make = [](const RuleMatch&) { return Tensors(); }};
  EXPECT_EQ(whole_key(whole, options).refusal, "made has no version");
}

// Own operators: sin under the names of others.
OpRegistry with_own(const std::string& version, const std::string& signature = {}) {
  OpRegistry all = value_or_throw(core_ops());
  OpDef own = *all.find("sin");
  own.name = "own";
  own.file.clear();
  own.version = version;
  if (!signature.empty()) own.signature = signature;
  value_or_throw(all.add(own));
  return all;
}

TEST(ProgramKey, own_operators_by_version) {
  const auto key_with = [](const OpRegistry& ops, const std::string& called, bool rules = false) {
    const std::string graph =
        fmt::format("graph @main(%x: input f32[4]) {{\n  %y = {}(%x)\n  return %y\n}}\n", called);
    StageOptions options;
    if (rules) options.rules = {{.name = "r", .text = "..."}};
    const Program p = value_or_throw(parse(graph, "t.clv", ops));
    return program_key(p.main, ops, options, "a backend");
  };
  const OpRegistry one = with_own("1"), two = with_own("2"), none = with_own("");
  const OpRegistry other = with_own("1", "(Tensor self, *, int n=1) -> Tensor");
  EXPECT_EQ(key_with(one, "own").digest, key_with(with_own("1"), "own").digest);
  EXPECT_NE(key_with(one, "own").digest, key_with(two, "own").digest);
  EXPECT_NE(key_with(one, "own").digest, key_with(other, "own").digest);
  EXPECT_EQ(key_with(none, "own").refusal, "operator own has no version");
  // One that isn't called counts only where a rule may call it.
  EXPECT_EQ(key_with(one, "sin").digest, key_with(none, "sin").digest);
  EXPECT_EQ(key_with(none, "sin").refusal, "");
  EXPECT_NE(key_with(one, "sin", true).digest, key_with(two, "sin", true).digest);
  EXPECT_EQ(key_with(none, "sin", true).refusal, "operator own has no version");
}

}  // namespace
}  // namespace cleave
