#include "pass/pass_setting.h"

#include <algorithm>
#include <charconv>

namespace cleave {
namespace {

// Takes the text up to the next colon off.
std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<int64_t> integer_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc() && end == text.end() ? std::optional(value) : std::nullopt;
}

std::string names_of(const Pass& pass) {
  std::string out;
  for (const PassSetting& s : pass.settings) out += (out.empty() ? "" : ", ") + s.name;
  return out.empty() ? "none" : out;
}

}  // namespace

std::string_view pass_name_in(std::string_view text) { return take_word(text); }

Result<Pass> with_settings(Pass pass, std::string_view text) {
  take_word(text);
  if (text.empty()) return pass;
  while (!text.empty()) {
    const std::string_view name = take_word(text), given = take_word(text);
    const auto it = std::ranges::find(pass.settings, name, &PassSetting::name);
    if (it == pass.settings.end())
      return user_error("pass {} has no setting '{}'; it has {}", pass.name, name, names_of(pass));
    const std::optional<int64_t> value = integer_of(given);
    if (!value || *value < it->least)
      return user_error("pass {}: {} is '{}', expected an integer of at least {}", pass.name, name,
                        given, it->least);
    it->value = *value;
  }
  pass.run = pass.make_run(pass.settings);
  return pass;
}

int64_t setting(const std::vector<PassSetting>& all, std::string_view name) {
  return std::ranges::find(all, name, &PassSetting::name)->value;
}

}  // namespace cleave
