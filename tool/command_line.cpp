#include "tool/option_list.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <type_traits>

namespace cleave::tool {
namespace {

// What to expect in the place of a text that is no T.
template <class T>
std::string range_of() {
  if constexpr (std::is_floating_point_v<T>)
    return "a number that fits 64 bits";
  else
    return fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max());
}

// The parser's own conversions saturate or wrap what is beyond the type.
template <class T>
void read(const std::string& name, std::string_view text, T& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    throw CLI::ValidationError(name,
                               fmt::format("'{}' is not {}", text.substr(0, 60), range_of<T>()));
}

template <class T>
void add_number(CLI::App& app, const std::string& names, T& value, const std::string& what) {
  const std::string name = names.substr(names.rfind(',') + 1);
  app.add_option_function<std::string>(
         names, [name, &value](const std::string& text) { read(name, text, value); }, what)
      ->type_name(std::is_floating_point_v<T> ? "FLOAT"
                  : std::is_signed_v<T>       ? "INT"
                                              : "UINT");
}

}  // namespace

void OptionList::required(const std::string& name, std::string& value, const std::string& what) {
  app_.add_option(name, value, what)->required();
}
void OptionList::optional(const std::string& name, std::string& value, const std::string& what) {
  app_.add_option(name, value, what);
}
void OptionList::option(const std::string& names, std::string& value, const std::string& what) {
  app_.add_option(names, value, what);
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
void OptionList::option(const std::string& names, std::vector<std::string>& value,
                        const std::string& what) {
  app_.add_option(names, value, what)->delimiter(',')->allow_extra_args(false);
}
void OptionList::flag(const std::string& name, bool& value, const std::string& what) {
  app_.add_flag(name, value, what);
}

}  // namespace cleave::tool
