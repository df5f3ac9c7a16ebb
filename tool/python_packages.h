// What the Python of this machine has of what cleave's package needs.
#pragma once
#include <map>
#include <string>

#include "base/result.h"

namespace cleave::tool {

struct PythonPackages {
  std::string python;                           // "3.11.2"
  std::map<std::string, std::string> versions;  // of cleave, torch, numpy, those that are there
  std::string broken;                           // why `import cleave` fails, where it is there
};

// Asks `python3` of PATH; imports cleave, and nothing from the current folder. Error (unsupported):
// there is none.
Result<PythonPackages> python_packages();

}  // namespace cleave::tool
