#include "compile/option_text.h"

#include <algorithm>
#include <set>

#include "base/edit_distance.h"
#include "compile/option_word.h"

namespace cleave {
namespace {

using Changes = std::initializer_list<std::pair<std::string, std::string>>;

bool has(OptionOwner owner, const OptionRow& row) {
  return owner == OptionOwner::train || row.owner == OptionOwner::compile;
}

// The row of a name that a text may set.
Result<const OptionRow*> find_row(std::string_view name, OptionOwner owner) {
  const std::span<const OptionRow> rows = option_table();
  const auto row = std::ranges::find(rows, name, &OptionRow::name);
  if (row != rows.end() && !has(owner, *row))
    return user_error("{} is an option of training steps alone, TrainOptions has it", name);
  if (row != rows.end() && !row->has_text())
    return user_error("{} has no text, it is set in C++: {{.{} = {}}}", name, name, row->example);
  if (row != rows.end()) return &*row;
  NearestName nearest(name);
  for (const OptionRow& r : rows)
    if (has(owner, r) && r.has_text()) nearest.offer(r.name);
  return user_error(
      "there is no option '{}'{}; doc/options.md lists all", name.substr(0, 60),
      nearest.best().empty() ? "" : fmt::format(", did you mean '{}'?", nearest.best()));
}

// Sets options one by one, each once.
class Setter {
 public:
  Setter(TrainOptions& options, OptionOwner owner) : options_(options), owner_(owner) {}

  Status set(const OptionRow& row, std::string_view value) {
    if (!seen_.insert(row.name).second)
      return user_error("{} is given twice, the second time as {}={}", row.name, row.name,
                        value.substr(0, 60));
    return row.set(row, value, options_);
  }
  Status set(std::string_view name, std::string_view value) {
    CLEAVE_TRY(const OptionRow* row, find_row(name, owner_));
    return set(*row, value);
  }

  // The first NAME=VALUE of the text, which is taken from it.
  Status take_word(std::string_view& text) {
    const size_t name_end = std::min(text.find_first_of("= \t\r\n"), text.size());
    CLEAVE_TRY(const OptionRow* row, find_row(text.substr(0, name_end), owner_));
    if (name_end == text.size() || text[name_end] != '=')
      return user_error("{}: expected NAME=VALUE without spaces around the =, such as {}={}",
                        row->name, row->name, row->example);
    text.remove_prefix(name_end + 1);
    CLEAVE_TRY(const size_t end, value_end(*row, text));
    const std::string_view value = text.substr(0, end);
    text.remove_prefix(end);
    if (row->is_list) return set(*row, value);
    Result<std::string> bare = text_of_word(value);
    if (!bare.ok()) return std::move(bare).failure().within(std::string(row->name));
    return set(*row, *bare);
  }

 private:
  // The items of a list are words of their own.
  static Result<size_t> value_end(const OptionRow& row, std::string_view text) {
    size_t end = 0;
    for (;; ++end) {
      Result<size_t> size = end_of_word(text.substr(end), row.is_list ? "," : "");
      if (!size.ok()) return std::move(size).failure().within(row.name);
      end += *size;
      if (!row.is_list || end == text.size() || text[end] != ',') return end;
    }
  }

  TrainOptions& options_;
  OptionOwner owner_;
  std::set<std::string_view> seen_;
};

Result<TrainOptions> changed(TrainOptions options, const Changes& changes, OptionOwner owner) {
  Setter setter(options, owner);
  for (const auto& [name, value] : changes)
    if (Status set = setter.set(name, value); !set.ok())
      return std::move(set).failure().within(name_of(owner));
  return options;
}

}  // namespace

std::string print_options(const TrainOptions& options, OptionOwner owner) {
  const TrainOptions defaults;
  std::string out;
  for (const OptionRow& row : option_table()) {
    if (!has(owner, row) || !row.has_text()) continue;
    const std::string value = row.get(options);
    if (value == row.get(defaults)) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", row.name,
                       row.is_list ? value : word_of(value));
  }
  return out;
}

Result<TrainOptions> parse_options(std::string_view text, OptionOwner owner) {
  TrainOptions options;
  Setter setter(options, owner);
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
    if (text.empty()) return options;
    if (Status set = setter.take_word(text); !set.ok())
      return std::move(set).failure().within(name_of(owner));
  }
}

std::string CompileOptions::text() const {
  return print_options({.compile = *this}, OptionOwner::compile);
}
CompileOptions CompileOptions::parse(std::string_view text) {
  return value_or_throw(parse_options(text, OptionOwner::compile)).compile;
}
CompileOptions CompileOptions::with(Changes changes) const {
  return value_or_throw(changed({.compile = *this}, changes, OptionOwner::compile)).compile;
}

std::string TrainOptions::text() const { return print_options(*this, OptionOwner::train); }
TrainOptions TrainOptions::parse(std::string_view text) {
  return value_or_throw(parse_options(text, OptionOwner::train));
}
TrainOptions TrainOptions::with(Changes changes) const {
  return value_or_throw(changed(*this, changes, OptionOwner::train));
}

}  // namespace cleave
