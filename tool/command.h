// A command of the `cleave` tool: its options, its action, an example for `cleave help`.
//
// Results go to stdout, messages and progress to stderr. Exit status: 0 done, 1 UserError, 2
// Unsupported, 3 Bug, 130 after SIGINT, 143 after SIGTERM. Only this folder reads the environment.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tool/option_list.h"

namespace cleave::tool {

// Thrown after SIGINT or SIGTERM, when everything is saved.
struct Interrupted {
  int signal;
};

struct Command {
  std::string name;
  std::string summary;
  std::string example;  // shown by help, after the options
  // Declares the options and returns the action, whose closure holds the options' values.
  std::function<std::function<Status()>(OptionList&)> declare;
};

// Each is defined in the file of its name.
Command check_command();
Command import_command();
Command export_command();
Command show_command();
Command print_command();
Command run_command();
Command grad_command();
Command partition_command();
Command frontier_command();
Command remat_command();
Command plan_command();
Command compile_command();
Command build_command();
Command lower_command();
Command draw_command();
Command kernels_command();
Command opt_command();
Command reduce_command();
Command train_command();
Command tune_command();
Command cache_command();
Command diff_command();
Command doctor_command();
Command report_command();

// In the order in which help lists them.
std::vector<Command> all_commands();

}  // namespace cleave::tool
