// What is built ahead of time: the graphs of a program for the sizes that a library holds, and what
// their placeholders and results are to a caller.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cleave/host_tensor.h"
#include "compile/stage_options.h"
#include "ir/graph.h"
#include "standalone/program_file.h"

namespace cleave::ahead {

struct Source {
  struct State {
    std::string name;  // that callers say
    std::string role;  // for people: parameter, buffer, state, random, const
    standalone::StateKind kind = standalone::StateKind::state;
    std::optional<HostTensor> value = {};
  };
  // A graph, and which of its placeholders and results are whose.
  struct Program {
    Graph graph;                                      // static; from the stage verify on
    std::vector<std::string> inputs;                  // the placeholder of each
    std::map<std::string, size_t> state = {};         // placeholders, by name: entries of the state
    std::map<std::string, size_t> sizes = {};         // placeholders that hold a size
    std::vector<std::optional<size_t>> outputs = {};  // the number of each in `return`
  };
  struct Sized {
    std::vector<int64_t> sizes;
    Program step;
    std::optional<Program> gather = {};  // of the micro steps before the last
  };

  const OpRegistry* ops = nullptr;
  StageOptions options;
  std::vector<std::string> inputs = {};  // names that callers say
  std::vector<State> state = {};
  std::vector<std::string> outputs = {};
  std::vector<standalone::SizeEntry> sizes = {};  // that vary
  std::vector<Sized> sized = {};                  // the largest last
  int64_t accumulate = 1;
  std::optional<size_t> micro_step = {};  // as in ProgramFile
  std::string skip_text = {};
};

// All graphs, in an order that is always the same: by size, the step first.
std::vector<const Source::Program*> programs_of(const Source& source);

}  // namespace cleave::ahead
