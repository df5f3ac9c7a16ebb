#include "tool/buffer_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace cleave::tool {
namespace {

constexpr std::array<std::string_view, 4> names = {"id", "lower", "upper", "size"};
constexpr size_t longest_shown = 60;
constexpr int64_t largest_sum = int64_t{1} << 62;

// A word of the file for a message: printable and shortened.
std::string shown(std::string_view word) {
  std::string out;
  for (char c : word.substr(0, longest_shown)) out += c >= ' ' && c < 127 ? c : '?';
  return word.size() > longest_shown ? out + "..." : out;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r'))
    s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t comma = line.find(',');
    out.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

class Reader {
 public:
  Reader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  Result<BufferTable> read() {
    std::string_view line;
    if (!next(line))
      return user_error("{}: is empty; expected a line `id,lower,upper,size`", name_);
    CLEAVE_CHECK(read_header(line));
    table_.header = line;
    while (next(line)) CLEAVE_CHECK(read_buffer(line));
    if (table_.buffers.empty())
      return user_error("{}:{}: no buffer follows the header", name_, number_);
    CLEAVE_CHECK(check_ids());
    return std::move(table_);
  }

 private:
  template <class... Args>
  Failure wrong(fmt::format_string<Args...> what, Args&&... args) const {
    return user_error("{}:{}: {}", name_, number_, fmt::format(what, std::forward<Args>(args)...));
  }
  // The next line that isn't blank.
  bool next(std::string_view& line) {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      line = trimmed(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++number_;
      if (!line.empty()) return true;
    }
    return false;
  }

  Status read_header(std::string_view line) {
    const auto fields = fields_of(line);
    columns_ = fields.size();
    for (size_t n = 0; n < names.size(); ++n) {
      const auto at = std::find(fields.begin(), fields.end(), names[n]);
      if (at == fields.end())
        return wrong("there is no column `{}`; expected id, lower, upper and size, found: {}",
                     names[n], shown(line));
      if (std::find(at + 1, fields.end(), names[n]) != fields.end())
        return wrong("the column `{}` is named twice", names[n]);
      column_[n] = static_cast<size_t>(at - fields.begin());
    }
    if (std::find(fields.begin(), fields.end(), "offset") != fields.end())
      return wrong("there is a column `offset` already; take it out to plan anew");
    return {};
  }

  Result<int64_t> number(std::string_view field, std::string_view column) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error == std::errc::result_out_of_range)
      return wrong("{} {} is beyond 64 bits", column, shown(field));
    if (error != std::errc{} || end != field.data() + field.size())
      return wrong("{} is no integer: '{}'", column, shown(field));
    if (value < 0) return wrong("{} {} is negative", column, value);
    return value;
  }

  Status read_buffer(std::string_view line) {
    const auto fields = fields_of(line);
    if (fields.size() != columns_)
      return wrong("{} fields, where the header has {}", fields.size(), columns_);
    const std::string_view id = fields[column_[0]];
    if (id.empty()) return wrong("the id is empty");
    plan::Lifetime b;
    CLEAVE_TRY(b.lower, number(fields[column_[1]], "lower"));
    CLEAVE_TRY(b.upper, number(fields[column_[2]], "upper"));
    CLEAVE_TRY(b.size, number(fields[column_[3]], "size"));
    if (b.lower >= b.upper)
      return wrong("lower {} is not below upper {} (lifetimes are half-open)", b.lower, b.upper);
    if (b.size > largest_sum - sum_) return wrong("the sum of all sizes passes 2^62 here");
    sum_ += b.size;
    ids_.push_back({id, number_});
    table_.lines.emplace_back(line);
    table_.buffers.push_back(b);
    return {};
  }

  Status check_ids() {
    std::sort(ids_.begin(), ids_.end());
    for (size_t i = 1; i < ids_.size(); ++i)
      if (ids_[i].first == ids_[i - 1].first)
        return user_error("{}:{}: the id {} is given twice, first in line {}", name_,
                          ids_[i].second, shown(ids_[i].first), ids_[i - 1].second);
    return {};
  }

  std::string_view text_;
  std::string name_;
  size_t number_ = 0, columns_ = 0;
  std::array<size_t, 4> column_{};
  int64_t sum_ = 0;
  std::vector<std::pair<std::string_view, size_t>> ids_;  // and their lines
  BufferTable table_;
};

}  // namespace

Result<BufferTable> parse_buffer_table(const std::string& text, const std::string& name) {
  return Reader(text, name).read();
}

std::string with_offsets(const BufferTable& table, const std::vector<int64_t>& offset) {
  std::string out = table.header + ",offset\n";
  for (size_t i = 0; i < table.lines.size(); ++i)
    fmt::format_to(std::back_inserter(out), "{},{}\n", table.lines[i], offset[i]);
  return out;
}

}  // namespace cleave::tool
