// Tables of numbers as text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/edit_distance.h"
#include "base/printable.h"
#include "cleave/data.h"
#include "data/input_file.h"

namespace cleave::data {
namespace {

// The field that begins at `at`, which moves to the next one; npos after the last one of the line.
// Without spaces around it, and without its quotes.
Result<std::string_view> next_field(std::string_view line, size_t& at, char separator) {
  const auto trimmed = [](std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
  };
  const size_t begin = line.find_first_not_of(' ', at);
  if (begin != std::string_view::npos && line[begin] == '"') {
    const size_t close = line.find('"', begin + 1);
    if (close == std::string_view::npos) return user_error("a quote isn't closed");
    const size_t end = line.find_first_not_of(' ', close + 1);
    if (end != std::string_view::npos && line[end] != separator)
      return user_error("there is more after a closing quote");
    at = end == std::string_view::npos ? end : end + 1;
    return trimmed(line.substr(begin + 1, close - begin - 1));
  }
  const size_t end = line.find(separator, at);
  const std::string_view field = trimmed(line.substr(at, end == line.npos ? end : end - at));
  at = end == std::string_view::npos ? end : end + 1;
  return field;
}

Result<std::vector<std::string_view>> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at != std::string_view::npos;) {
    CLEAVE_TRY(const std::string_view field, next_field(line, at, separator));
    out.push_back(field);
  }
  return out;
}

class Table {
 public:
  Table(const std::string& path, const std::vector<Columns>& wanted, char separator)
      : path_(path), wanted_(wanted), separator_(separator) {}

  Result<HostTensors> read() {
    CLEAVE_TRY(const InputFile file, InputFile::open(path_));
    std::string text(static_cast<size_t>(file.size()), '\0');
    CLEAVE_CHECK(file.read(0, std::as_writable_bytes(std::span(text))));
    std::string_view rest = text;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // a byte order mark
    CLEAVE_CHECK(read_head(next_line(rest)));
    values_.resize(wanted_.size());
    while (!rest.empty()) {
      const std::string_view line = next_line(rest);
      if (line.empty()) continue;
      if (Status read = read_row(line); !read.ok())
        return std::move(read).failure().within(fmt::format("{}: line {}", path_, line_));
      ++rows_;
    }
    HostTensors out;
    for (size_t t = 0; t < wanted_.size(); ++t) out.push_back(tensor(t));
    return out;
  }

 private:
  std::string_view next_line(std::string_view& rest) {
    ++line_;
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  Status read_head(std::string_view line) {
    CLEAVE_TRY(const std::vector<std::string_view> names, fields_of(line, separator_));
    for (const std::string_view name : names) names_.emplace_back(name);
    for (const Columns& c : wanted_) {
      at_.emplace_back();
      if (c.names.empty()) return user_error("{}: a tensor has no columns", path_);
      for (const std::string& name : c.names) {
        const auto at = std::ranges::find(names_, name);
        if (at == names_.end())
          return user_error("{}: there is no column {}; columns are {}", path_, name, columns());
        at_.back().push_back(static_cast<size_t>(at - names_.begin()));
      }
    }
    return {};
  }

  Status read_row(std::string_view line) {
    CLEAVE_TRY(const std::vector<std::string_view> fields, fields_of(line, separator_));
    if (fields.size() != names_.size())
      return user_error("{} fields, expected {}", fields.size(), names_.size());
    for (size_t t = 0; t < wanted_.size(); ++t)
      for (const size_t column : at_[t]) {
        CLEAVE_TRY(const double value, number(fields[column], column, wanted_[t].dtype));
        values_[t].push_back(value);
      }
    return {};
  }

  Result<double> number(std::string_view field, size_t column, DType dtype) const {
    if (field.starts_with('+')) field.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size())
      return user_error("column {}: '{}' is no number", unquoted_printable(names_[column]),
                        unquoted_printable(field));
    if (!is_floating(dtype) && value != std::trunc(value))
      return user_error("column {}: {} is no integer, expected {}",
                        unquoted_printable(names_[column]), unquoted_printable(field),
                        name_of(dtype));
    return value;
  }

  std::string columns() const {
    constexpr size_t most = 20;
    std::string out;
    for (size_t k = 0; k < std::min(most, names_.size()); ++k)
      out += (k > 0 ? ", " : "") + unquoted_printable(names_[k]);
    return names_.size() > most ? fmt::format("{} and {} more", out, names_.size() - most) : out;
  }

  HostTensor tensor(size_t t) const {
    HostTensor out(wanted_[t].dtype, {rows_, std::ssize(at_[t])});
    for (int64_t k = 0; k < out.numel(); ++k) out.set_number(k, values_[t][k]);
    return out;
  }

  const std::string& path_;
  const std::vector<Columns>& wanted_;
  char separator_;
  std::vector<std::string> names_;
  std::vector<std::vector<size_t>> at_;      // the columns of each tensor
  std::vector<std::vector<double>> values_;  // of each tensor
  int64_t rows_ = 0, line_ = 0;
};

}  // namespace

SourcePtr csv(const std::string& path, const std::vector<Columns>& columns,
              const CsvOptions& options) {
  return tensors(value_or_throw(Table(path, columns, options.separator).read()));
}

}  // namespace cleave::data
