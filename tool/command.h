// One command of the `cleave` tool: its options, what it does, an example for `cleave help`.
//
// Results go to stdout, messages and progress to stderr. Exit status: 0 done, 1 UserError, 2
// Unsupported, 3 Bug, 130 after SIGINT. Only this folder reads the environment.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tool/option_list.h"

namespace cleave::tool {

// Thrown after SIGINT, once everything is saved.
struct Interrupted {};

struct Command {
  std::string name;
  std::string summary;
  std::string example;  // shown by help, after what it does
  // Declares the options and gives what runs when it is called. Values of options
  // live in the closure.
  std::function<std::function<Status()>(OptionList&)> declare;
};

// Each defined in a file of its name.
Command check_command();
Command print_command();
Command run_command();
Command grad_command();
Command partition_command();
Command frontier_command();
Command remat_command();
Command plan_command();
Command compile_command();
Command kernels_command();
Command opt_command();
Command train_command();
Command tune_command();

// In the order of the help.
std::vector<Command> all_commands();

}  // namespace cleave::tool
