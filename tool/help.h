// What the command says of itself: the overview, its version, its manual page.
#pragma once
#include <string>
#include <vector>

#include "tool/command.h"
#include "tool/command_line.h"

namespace cleave::tool {

// `cleave help`: the commands, and where graphs come from.
std::string overview(const std::vector<Command>& commands);
// `cleave --version`: the version and what built it.
std::string version_text();
// `cleave help --man`: cleave(1) for man and groff.
std::string manual_page(const CommandLine& line, const std::vector<Command>& commands);

}  // namespace cleave::tool
