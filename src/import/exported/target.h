// What a node calls.
#pragma once
#include <map>
#include <string>

#include "import/exported/program.h"
#include "ir/op_def.h"

namespace cleave::exported {

// "torch.ops.aten.add.Tensor" in parts.
struct Target {
  std::string space, name, overload;  // "aten", "add", "Tensor"; "higher_order", "cond", ""
};
Target parse_target(const std::string& target);
// Whether it writes its result into an argument: "add.out".
bool writes_out(const Target& t);
// The names of a node's results, in order; empty where one isn't used.
std::vector<std::string> result_names(const Node& node);
// Whether the node only computes numbers of the run, or asserts something of them: it has no call.
bool is_about_sizes(const Node& node);
// Whether it checks a value, or the `info` of a factorization, and computes nothing (check_reader).
bool checks_value(const Node& node);
bool checks_factor(const Node& node);
// The operators that can't be read, each with its number of calls; those of subgraphs too.
std::map<std::string, int64_t> uncovered(const Graph& source, const OpRegistry& ops);

}  // namespace cleave::exported
