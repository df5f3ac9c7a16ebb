#include "base/target_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "base/clear_failure.h"
#include "base/target.h"
#include "base/write_file.h"

namespace cleave {
namespace {

constexpr std::string_view version = "cleave-target 1";
constexpr size_t max_file_bytes = 1 << 20;
constexpr double max_rate = 1e12;
constexpr int max_answer = 99;

struct Field {
  std::string_view name;
  double MachineRates::* rate;
};
constexpr std::array fields = {Field{"product_gflops", &MachineRates::product_gflops},
                               Field{"half_product_gflops", &MachineRates::half_product_gflops},
                               Field{"pointwise_gflops", &MachineRates::pointwise_gflops},
                               Field{"memory_gigabytes", &MachineRates::memory_gigabytes},
                               Field{"cache_gigabytes", &MachineRates::cache_gigabytes},
                               Field{"call_ns", &MachineRates::call_ns},
                               Field{"cache_bytes", &MachineRates::cache_bytes},
                               Field{"host_gigabytes", &MachineRates::host_gigabytes}};

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view blank = " \t\r";
  const size_t begin = s.find_first_not_of(blank);
  return begin == s.npos ? "" : s.substr(begin, s.find_last_not_of(blank) - begin + 1);
}

// Returns the next line without its comment, and removes it from `text`.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(line.substr(0, std::min(line.find('#'), line.size())));
}

Result<double> read_rate(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size() || !(x > 0) || x > max_rate)
    return user_error("`{}`, expected a number above 0", text.substr(0, 40));
  return x;
}

const Field* find_field(std::string_view name) {
  const auto at = std::ranges::find(fields, name, &Field::name);
  return at == fields.end() ? nullptr : &*at;
}

Status read_field(std::string_view name, std::string_view value, Target& into) {
  if (name == "set") {
    CLEAVE_TRY(const Target named, parse_target(value));
    const MachineRates before = common_rates(into), rates = common_rates(named);
    into.set = named.set;
    into.is_native = named.is_native;
    into.cuda_arch = named.cuda_arch;
    for (const Field& f : fields)  // those that no line gave
      if (into.rates.*f.rate == before.*f.rate) into.rates.*f.rate = rates.*f.rate;
    return {};
  }
  if (const Field* f = find_field(name)) {
    Result<double> rate = read_rate(value);
    if (!rate.ok()) return std::move(rate).failure().within(std::string(name));
    into.rates.*f->rate = *rate;
    return {};
  }
  std::vector<std::string_view> names = {"set"};
  for (const Field& f : fields) names.push_back(f.name);
  return user_error("`{}` is no name of a target file, expected {}", name.substr(0, 40),
                    fmt::join(names, ", "));
}

// "product,bf16,... 3"
Status read_answer(std::string_view text, Target& into) {
  const size_t space = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view number = trimmed(text.substr(space));
  int answer = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), answer);
  if (error != std::errc() || end != number.data() + number.size() || answer < 0 ||
      answer > max_answer)
    return user_error("`answer {}`, expected a library's call and a number from 0 to {}",
                      text.substr(0, 80), max_answer);
  if (!into.answers.emplace(text.substr(0, space), answer).second)
    return user_error("the answer for {} stands twice",
                      text.substr(0, std::min<size_t>(space, 80)));
  return {};
}

// Never empty.
std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> out;
  for (size_t from = 0; from <= text.size(); from += out.back().size() + 1)
    out.push_back(text.substr(from, text.find(mark, from) - from));
  return out;
}

// "call_ns:300"
Status read_rate_of(std::string_view item, Target& into) {
  const size_t colon = std::min(item.find(':'), item.size());
  const std::string_view name = item.substr(0, colon);
  if (!find_field(name)) {
    std::vector<std::string_view> names;
    for (const Field& f : fields) names.push_back(f.name);
    return user_error("`{}`, expected a rate such as call_ns:300, of {}", item.substr(0, 40),
                      fmt::join(names, ", "));
  }
  return read_field(name, item.substr(std::min(colon + 1, item.size())), into);
}

Result<Target> parse_lines(std::string_view text) {
  if (next_line(text) != version)
    return user_error("line 1: expected `{}`; `cleave tune --out FILE` writes such files", version);
  Target out = Target::here();
  out.rates = {};
  std::set<std::string_view> seen;
  for (int number = 2; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (line.empty()) continue;
    if (line.starts_with("answer ")) {
      if (Status read = read_answer(trimmed(line.substr(7)), out); !read.ok())
        return std::move(read).failure().within(fmt::format("line {}", number));
      continue;
    }
    const size_t space = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view name = line.substr(0, space);
    if (!seen.insert(name).second) return user_error("line {}: {} stands twice", number, name);
    if (Status read = read_field(name, trimmed(line.substr(space)), out); !read.ok())
      return std::move(read).failure().within(fmt::format("line {}", number));
  }
  if (!seen.contains("set")) return user_error("no line `set`, such as `set native`");
  return out;
}

Result<Target> parse_items(std::string_view word) {
  const std::vector<std::string_view> items = split(word, ',');
  CLEAVE_TRY(Target out, parse_target(items[0]));
  for (size_t k = 1; k < items.size(); ++k)
    if (Status read = read_rate_of(items[k], out); !read.ok())
      return std::move(read).failure().within(fmt::format("target {}", word.substr(0, 60)));
  return out;
}

Result<Target> in_clear_words(Result<Target> read) {
  if (!read.ok()) return clear_failure(std::move(read).failure());
  return read;
}

}  // namespace

Result<Target> parse_target_file(std::string_view text) {
  return in_clear_words(parse_lines(text));
}
Result<Target> parse_target_word(std::string_view word) {
  return in_clear_words(parse_items(word));
}

std::string print_target_file(const Target& target) {
  std::string out = fmt::format("{}\nset {}\n", version, target.text());
  for (const Field& f : fields)
    if (const double rate = target.rates.*f.rate; rate > 0)
      out += fmt::format("{} {}\n", f.name, rate);
  for (const auto& [call, answer] : target.answers)
    out += fmt::format("answer {} {}\n", call, answer);
  return out;
}

std::string target_word(const Target& target) {
  std::string out(target.text());
  for (const Field& f : fields)
    if (target.rates.*f.rate != common_rates(target).*f.rate)
      out += fmt::format(",{}:{}", f.name, target.rates.*f.rate);
  return out;
}

Result<Target> read_target_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return user_error("{}: {}", path, std::strerror(errno));
  std::string text(max_file_bytes + 1, ' ');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return user_error("{}: {}", path, std::strerror(errno));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > max_file_bytes)
    return user_error("{}: over {} bytes, no target file", path, max_file_bytes);
  Result<Target> target = parse_target_file(text);
  if (!target.ok()) return std::move(target).failure().within(path);
  return target;
}

Result<Target> target_of(const std::string& name_or_path) {
  const bool is_path = name_or_path.find_first_of("/.") != std::string::npos;
  return is_path ? read_target_file(name_or_path) : parse_target(name_or_path);
}

Target Target::read(const std::string& path) { return value_or_throw(read_target_file(path)); }

void Target::write(const std::string& path) const {
  const std::string text = print_target_file(*this);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  value_or_throw(write_file(path, {&bytes, 1}));
}

}  // namespace cleave
