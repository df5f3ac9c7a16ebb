// The `cleave` command: runs the subcommand, and turns failures into messages and exit statuses.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "tool/command.h"
#include "tool/command_line.h"
#include "tool/help.h"
#include "tool/standard_streams.h"

namespace cleave::tool {

std::vector<Command> all_commands() {
  return {check_command(),    print_command(),  import_command(), export_command(),
          show_command(),     run_command(),    grad_command(),   partition_command(),
          frontier_command(), remat_command(),  plan_command(),   compile_command(),
          build_command(),    lower_command(),  draw_command(),   kernels_command(),
          opt_command(),      reduce_command(), train_command(),  tune_command(),
          cache_command(),    report_command(), diff_command(),   doctor_command()};
}

namespace {

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return 1;
    case ErrorKind::unsupported: return 2;
    case ErrorKind::bug: return 3;
  }
  return 3;
}

constexpr size_t longest_message = 3000;  // names in a hostile file may be of any length

int report(const Failure& f) {
  const char* what = f.kind == ErrorKind::bug           ? "cleave: this is a defect of cleave"
                     : f.kind == ErrorKind::unsupported ? "cleave: not supported"
                                                        : "cleave: error";
  std::fflush(stdout);
  const size_t shown = std::min(f.message.size(), longest_message);
  fmt::print(stderr, "{}: {}{}\n", what, f.message.substr(0, shown),
             shown < f.message.size() ? "..." : "");
  return status_of(f.kind);
}

int help(const CommandLine& line, const std::vector<Command>& commands, const std::string& about) {
  if (about.empty() || about == "--man") {
    fmt::print("{}", about.empty() ? overview(commands) : manual_page(line, commands));
    return 0;
  }
  for (const Command& c : commands)
    if (c.name == about) {
      fmt::print("{}\nexample:\n{}\n", line.help(c.name), c.example);
      return 0;
    }
  std::vector<std::string> names = {"help"};
  for (const Command& c : commands) names.push_back(c.name);
  std::string near = nearest_word(about, names);
  return report(user_error("there is no command '{}'{}", about,
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto commands = all_commands();
  CommandLine line;
  std::vector<std::function<Status()>> actions;
  for (const Command& c : commands) {
    OptionList options = line.add_command(c.name, c.summary);
    actions.push_back(c.declare(options));
  }
  if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h")
    return help(line, commands, words.size() > 1 ? words[1] : "");
  if (words[0] == "--version" || words[0] == "version") {
    fmt::print("{}", version_text());
    return 0;
  }
  if (words.size() > 1 && (words[1] == "--help" || words[1] == "-h"))
    return help(line, commands, words[0]);
  const auto called = std::ranges::find(commands, words[0], &Command::name);
  if (called == commands.end()) return help(line, commands, words[0]);
  if (Status s = line.read(words[0], argc, argv); !s.ok()) return report(s.failure());
  if (Status s = actions[static_cast<size_t>(called - commands.begin())](); !s.ok())
    return report(s.failure());
  return 0;
}

// The one catch of the command: what public calls of the library throw, and what nobody foresaw.
int run_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Interrupted& by) { return 128 + by.signal; } catch (const Error& e) {
    return report({e.kind(), e.what()});
  } catch (const std::bad_alloc&) {
    return report(user_error("the system has not enough memory for this"));
  } catch (const std::exception& e) {
    if (const Status written = check_stdout(); !written.ok()) return report(written.failure());
    return report(bug("{}", e.what()));
  }
}

}  // namespace
}  // namespace cleave::tool

int main(int argc, char** argv) {
  cleave::tool::keep_standard_streams();
  const int status = cleave::tool::run_guarded(argc, argv);
  if (status != 0) return status;
  // Printed output may still be buffered: it is an error if it can't be written.
  const cleave::Status written = cleave::tool::check_stdout();
  return written.ok() ? 0 : cleave::tool::report(written.failure());
}
