#include "tool/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "base/edit_distance.h"

namespace cleave::tool {
namespace {

// For messages: which texts are a T.
template <class T>
std::string range_of() {
  if constexpr (std::is_floating_point_v<T>)
    return "a number that fits 64 bits";
  else
    return fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max());
}

// Instead of the parser's own conversions, which saturate or wrap numbers outside the type.
template <class T>
void read(const std::string& name, std::string_view text, T& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    throw CLI::ValidationError(name,  // which the parser catches, and adds the option to
                               fmt::format("'{}' is not {}", text.substr(0, 60), range_of<T>()));
}

template <class T, class Value>
CLI::Option* add_numbers_option(CLI::App& app, const std::string& names, Value& value,
                                const std::string& what) {
  const std::string name = names.substr(names.rfind(',') + 1);
  const auto take = [name, &value](const std::string& text) {
    T number{};
    read(name, text, number);
    value = number;
  };
  return app.add_option_function<std::string>(names, take, what)
      ->type_name(std::is_floating_point_v<T> ? "FLOAT"
                  : std::is_signed_v<T>       ? "INT"
                                              : "UINT");
}

template <class T>
void add_number(CLI::App& app, const std::string& names, T& value, const std::string& what) {
  add_numbers_option<T>(app, names, value, what)->default_str(fmt::format("{}", value));
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) out.push_back("--" + name);
  return out;
}

// An error of the option parser as one line that says what to do.
Failure option_failure(const CLI::App& command, const CLI::ParseError& e,
                       const std::vector<std::string>& words) {
  const std::string hint = fmt::format("; see `cleave help {}`", command.get_name());
  for (const std::string& word : words)
    if (word.size() > 2 && word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const auto known = options_of(command);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string near = nearest_word(name, known);
      return user_error("unknown option {}{}{}", name,
                        near.empty() ? "" : fmt::format("; did you mean {}?", near), hint);
    }
  std::string text = e.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return user_error("{}{}", text, hint);
}

}  // namespace

void OptionList::required(const std::string& name, std::string& value, const std::string& what) {
  app_.add_option(name, value, what)->required();
}
void OptionList::optional(const std::string& name, std::string& value, const std::string& what) {
  app_.add_option(name, value, what);
}
void OptionList::option(const std::string& names, std::string& value, const std::string& what) {
  app_.add_option(names, value, what)->default_str(value);
}
void OptionList::option(const std::string& names, int& value, const std::string& what) {
  add_number(app_, names, value, what);
}
void OptionList::option(const std::string& names, int64_t& value, const std::string& what) {
  add_number(app_, names, value, what);
}
void OptionList::option(const std::string& names, uint64_t& value, const std::string& what) {
  add_number(app_, names, value, what);
}
void OptionList::option(const std::string& names, double& value, const std::string& what) {
  add_number(app_, names, value, what);
}
void OptionList::option(const std::string& names, std::optional<int64_t>& value,
                        const std::string& what) {
  add_numbers_option<int64_t>(app_, names, value, what);
}
void OptionList::option(const std::string& names, std::optional<double>& value,
                        const std::string& what) {
  add_numbers_option<double>(app_, names, value, what);
}
void OptionList::option(const std::string& names, std::vector<std::string>& value,
                        const std::string& what) {
  app_.add_option(names, value, what)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str(fmt::format("{}", fmt::join(value, ",")));
}
void OptionList::flag(const std::string& name, bool& value, const std::string& what) {
  app_.add_flag(name, value, what);
}

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t min_distance = 1 + std::min<size_t>(word.size(), 64) / 2;
  if (word.size() > 64) return best;
  for (const std::string& k : known)
    if (size_t d = edit_distance(word, k); d < min_distance) min_distance = d, best = k;
  return best;
}

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>("cleave", "cleave")) {
  app_->set_help_flag();
}
CommandLine::~CommandLine() = default;

OptionList CommandLine::add_command(const std::string& name, const std::string& summary) {
  CLI::App* const command = app_->add_subcommand(name, summary);
  command->set_help_flag();
  return OptionList(*command);
}

Status CommandLine::read(const std::string& command, int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  // The parser would use the next word as the value.
  for (const std::string& word : words)
    if (word.starts_with("--") && word.ends_with('=') && word.find('=') == word.size() - 1)
      return user_error("{}: expected a value after `=`", word);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {  // how the parser says what is wrong
    return option_failure(*app_->get_subcommand(command), e, words);
  }
  return {};
}

std::string CommandLine::help(const std::string& command) const {
  return app_->get_subcommand(command)->help("cleave");
}

}  // namespace cleave::tool
