// The words of a command line, read by the command that they name. What parses them is hidden in
// command_line.cpp: its templates are slow to compile.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tool/option_list.h"

namespace cleave::tool {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  // The options of a new command, to be declared; valid as long as this.
  OptionList add_command(const std::string& name, const std::string& summary);
  // Puts the words after the program's name into the places that the options of `command` were
  // declared with. Error (user): in one line, with the way out.
  Status read(const std::string& command, int argc, char** argv);
  // What a command takes.
  std::string help(const std::string& command) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

// The known word nearest to what was typed; empty when none is near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

}  // namespace cleave::tool
