// Parses a command line for the command that it names. The parsing library is hidden in
// command_line.cpp, since its templates are slow to compile.
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

  // Adds a command and returns its list of options, which is valid as long as this object.
  OptionList add_command(const std::string& name, const std::string& summary);
  // Parses the words after the program's name into the variables that the options of `command` were
  // declared with. Error (user): one line that says what to do.
  Status read(const std::string& command, int argc, char** argv);
  // The text of `cleave help COMMAND`.
  std::string help(const std::string& command) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

// The known word with the smallest edit distance to `word`; empty if none is similar.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

}  // namespace cleave::tool
