// The `cleave` command: finds the subcommand, runs it, turns failures into messages and statuses.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/edit_distance.h"
#include "tool/command.h"
#include "tool/standard_streams.h"

namespace cleave::tool {

std::vector<Command> all_commands() {
  return {check_command(),     print_command(),    run_command(),   grad_command(),
          partition_command(), frontier_command(), remat_command(), plan_command(),
          compile_command(),   kernels_command(),  opt_command(),   train_command(),
          tune_command()};
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

constexpr size_t longest_message = 3000;  // a name or list of a hostile file may be of any length

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

// The known word nearest to what was typed; empty when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t least = 1 + std::min<size_t>(word.size(), 64) / 2;
  if (word.size() > 64) return best;
  for (const std::string& k : known)
    if (size_t d = edit_distance(word, k); d < least) least = d, best = k;
  return best;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) out.push_back("--" + name);
  return out;
}

// What the option parser refuses, in one line with the way out.
Failure option_failure(const CLI::App& app, const CLI::App* sub, const CLI::ParseError& e,
                       const std::vector<std::string>& words) {
  const CLI::App& at = sub ? *sub : app;
  std::string hint =
      fmt::format("; see `cleave help{}{}`", sub ? " " : "", sub ? sub->get_name() : "");
  for (const std::string& word : words)
    if (word.size() > 2 && word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const auto known = options_of(at);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string near = nearest(name, known);
      return user_error("unknown option {}{}{}", name,
                        near.empty() ? "" : fmt::format("; did you mean {}?", near), hint);
    }
  std::string text = e.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return user_error("{}{}", text, hint);
}

int help(const CLI::App& app, const std::vector<Command>& commands, const std::string& about) {
  if (about.empty()) {
    fmt::print(
        "cleave compiles tensor programs for training.\n\nusage: cleave COMMAND [OPTIONS]\n\n");
    for (const Command& c : commands) fmt::print("  {:<11}{}\n", c.name, c.summary);
    fmt::print("  {:<11}{}\n\n`cleave help COMMAND` explains one, with an example.\n", "help",
               "explain the commands");
    return 0;
  }
  for (const Command& c : commands)
    if (c.name == about) {
      fmt::print("{}\nexample:\n{}\n", app.get_subcommand(c.name)->help(), c.example);
      return 0;
    }
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.name);
  std::string near = nearest(about, names);
  return report(user_error("there is no command '{}'{}", about,
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto commands = all_commands();
  CLI::App app("cleave", "cleave");
  app.set_help_flag();
  std::vector<std::function<Status()>> actions;
  for (const Command& c : commands) {
    CLI::App* sub = app.add_subcommand(c.name, c.summary);
    sub->set_help_flag();
    OptionList options(*sub);
    actions.push_back(c.declare(options));
  }
  if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h")
    return help(app, commands, words.size() > 1 ? words[1] : "");
  if (words.size() > 1 && (words[1] == "--help" || words[1] == "-h"))
    return help(app, commands, words[0]);
  CLI::App* sub = nullptr;
  for (const Command& c : commands)
    if (c.name == words[0]) sub = app.get_subcommand(c.name);
  if (!sub) return help(app, commands, words[0]);
  // The parser would take the next word for the value.
  for (const std::string& word : words)
    if (word.starts_with("--") && word.ends_with('=') && word.find('=') == word.size() - 1)
      return report(user_error("{}: expected a value after `=`", word));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return report(option_failure(app, sub, e, words)); }
  for (size_t i = 0; i < commands.size(); ++i)
    if (commands[i].name == words[0])
      if (Status s = actions[i](); !s.ok()) return report(s.failure());
  return 0;
}

int run_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Interrupted&) { return 130; } catch (const Error& e) {
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
  // What was printed counts as done only once it is written.
  const cleave::Status written = cleave::tool::check_stdout();
  return written.ok() ? 0 : cleave::tool::report(written.failure());
}
