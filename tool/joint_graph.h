// The joint graph that a command works on: the file's own, or that of its forward graph, by the
// stages that a training step takes (compile/stages.h).
#pragma once
#include "tool/autocast_option.h"
#include "tool/pass_choice.h"

namespace cleave::tool {

struct JointOptions {
  AutocastOption autocast;
  PassChoice choice;
  void add_to(OptionList& options) {
    autocast.add_to(options);
    choice.add_all_to(options);
  }
};

// A joint graph stays as it is. Errors: those of the options, of mixed precision and of gradients.
Status make_joint_graph(Graph& g, const OpRegistry& ops, const JointOptions& options);

}  // namespace cleave::tool
