#include "tool/help.h"

#include "version.h"

namespace cleave::tool {
namespace {

// Lines of roff: a backslash is an escape, and a line that begins with a dot or a quote a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string as_it_is(const std::string& text) {
  return ".nf\n" + escaped(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

constexpr const char* graphs =
    "A graph is a text file, FILE.clv: a few lines by hand (doc/ir.md), what a C++ program writes\n"
    "with print(graph), or what another command wrote (-o); or a model of PyTorch, FILE.pt2, with "
    "its\n"
    "weights (doc/from_pytorch.md). Tensors are .safetensors files.";

}  // namespace

std::string overview(const std::vector<Command>& commands) {
  std::string out =
      "cleave compiles tensor programs for training.\n\nusage: cleave COMMAND [OPTIONS]\n\n";
  for (const Command& c : commands) out += fmt::format("  {:<11}{}\n", c.name, c.summary);
  out += fmt::format("  {:<11}{}\n\n", "help", "explain the commands");
  return out + graphs + "\n\n`cleave help COMMAND` explains one, with an example.\n";
}

std::string version_text() {
#ifdef __clang__
  constexpr const char* compiler = __VERSION__;  // says its name
#else
  constexpr const char* compiler = "g++ " __VERSION__;
#endif
  return fmt::format("cleave {}, built by {}\n", CLEAVE_VERSION, compiler);
}

std::string manual_page(const CommandLine& line, const std::vector<Command>& commands) {
  std::string out =
      fmt::format(".TH CLEAVE 1 \"\" \"cleave {}\" \"User Commands\"\n", CLEAVE_VERSION);
  out += ".SH NAME\ncleave \\- compile tensor programs for training\n";
  out +=
      ".SH SYNOPSIS\n.B cleave\n.I COMMAND\n[\n.I OPTIONS\n]\n.br\n.B cleave help\n[\n.I "
      "COMMAND\n]\n";
  out += ".br\n.B cleave \\-\\-version\n.SH DESCRIPTION\n" + escaped(graphs) + "\n.SH COMMANDS\n";
  for (const Command& c : commands) {
    out += fmt::format(".SS {}\n", c.name) + as_it_is(line.help(c.name));
    out += ".PP\nExample:\n.PP\n" + as_it_is(c.example);
  }
  out += ".SH EXIT STATUS\n";
  const std::pair<int, const char*> statuses[] = {
      {0, "Done."},
      {1, "The input is wrong, or a file can't be read or written."},
      {2, "The input is right, but not supported."},
      {3, "A defect of cleave."},
      {130, "Interrupted (SIGINT); what was done is saved."},
      {143, "The same after SIGTERM."}};
  for (const auto& [status, what] : statuses)
    out += fmt::format(".TP\n.B {}\n{}\n", status, escaped(what));
  return out;
}

}  // namespace cleave::tool
