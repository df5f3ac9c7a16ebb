// Names that a graph can have, from those of a file.
#pragma once
#include <string>

namespace cleave::exported {

// What isn't a letter, a digit or one of _.-/ becomes _; cut after 1024 bytes, never empty.
std::string plain_name(const std::string& name);

}  // namespace cleave::exported
