// The joint graph that a command works on: the file's graph, or the one derived from it by the same
// stages as for a training step (compile/stages.h).
#pragma once
#include "tool/autocast_option.h"
#include "tool/pass_choice.h"

namespace cleave::tool {

struct JointOptions {
  AutocastOption autocast;
  PassChoice choice;
  std::vector<std::string> sizes;
  void add_to(OptionList& options) {
    autocast.add_to(options);
    choice.add_all_to(options);
    options.option("--size", sizes,
                   "of a symint: s0=64; several between commas; otherwise its hint");
  }
};

// Binds the symints if sizes are given. Errors (user): those of sized_graph.
Status bind_sizes(Graph& g, const JointOptions& options);

// Binds the sizes; a joint graph isn't changed otherwise (with --autocast: error). Errors: those of
// the options, of autocast and of gradients.
Status make_joint_graph(Graph& g, const OpRegistry& ops, const JointOptions& options);

}  // namespace cleave::tool
