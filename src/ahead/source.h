// What is built ahead of time: a graph, and what its placeholders and results are to a caller.
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
  Graph graph;  // static; from the stage verify on
  const OpRegistry* ops = nullptr;
  StageOptions options;
  // By the names of placeholders; `name` is what callers say.
  struct Input {
    std::string placeholder, name;
  };
  std::vector<Input> inputs;
  struct State {
    std::string placeholder, name;
    std::string role;  // for people: parameter, buffer, state, random, const
    standalone::StateKind kind = standalone::StateKind::state;
    std::optional<HostTensor> value = {};
  };
  std::vector<State> state;
  struct Output {
    size_t result = 0;  // its number in `return`
    std::string name;
  };
  std::vector<Output> outputs;
  std::string skip_text = {};  // as in ProgramFile
};

}  // namespace cleave::ahead
