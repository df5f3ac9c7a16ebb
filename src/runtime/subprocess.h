// Runs another program and waits for it: an argument list, no shell, nothing on its standard input.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::runtime {

struct Finished {
  int exit_status = 0;   // 128 + signal if a signal ended it
  std::string messages;  // its standard output and error
};

// The program is looked up in PATH. Errors: Unsupported if it isn't found, Bug if it can't start.
Result<Finished> run_program(const std::vector<std::string>& arguments);

}  // namespace cleave::runtime
