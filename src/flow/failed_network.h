// A network without a finite cut, with names for people.
#pragma once
#include <string>
#include <vector>

#include "flow/infinite_path.h"

namespace cleave::flow {

struct FailedNetwork {
  Network network;
  std::vector<std::string> names, notes;  // by node; a note says what constrains it, or is empty
  InfinitePath path;
};

}  // namespace cleave::flow
