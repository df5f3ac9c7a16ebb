#include "compile/option_value.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/device.h"
#include "base/target_file.h"
#include "compile/option_word.h"
#include "remat/parse_budget.h"

namespace cleave {
namespace {

// Of another kind: the row's kind says what is expected (option_table.cpp).
Failure wrong_kind() { return {}; }

// In the order of their values.
constexpr std::array<std::string_view, 4> compilers = {"automatic", "clang", "cc", "none"};
constexpr std::array<std::string_view, 2> other_sizes = {"refuse", "grow"};
constexpr std::array<std::string_view, 3> cuda_graphs = {"automatic", "on", "off"};
constexpr std::array<std::string_view, 3> loss_scalings = {"automatic", "on", "off"};
constexpr std::array<std::string_view, 3> nonfinites = {"keep", "skip_step", "error"};

template <class T>
Status read_number(std::string_view text, T& v) {
  T read{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, read);
  if (error != std::errc() || at != end) return wrong_kind();
  v = read;
  return {};
}

template <class T>
Status read_name(std::string_view text, std::span<const std::string_view> names, T& v) {
  const auto at = std::ranges::find(names, text);
  if (at == names.end()) return wrong_kind();
  v = static_cast<T>(at - names.begin());
  return {};
}

// Exact, in the largest unit that parse_byte_size knows of powers of 1024.
std::string size_text(int64_t bytes) {
  constexpr std::pair<std::string_view, int> units[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (const auto& [name, bits] : units)
    if (const int64_t whole = bytes >> bits; whole > 0 && whole << bits == bytes)
      return fmt::format("{}{}", whole, name);
  return fmt::format("{}", bytes);
}

}  // namespace

std::string text_of(bool v) { return v ? "true" : "false"; }
std::string text_of(int v) { return fmt::format("{}", v); }
std::string text_of(int64_t v) { return fmt::format("{}", v); }
std::string text_of(uint64_t v) { return fmt::format("{}", v); }
std::string text_of(double v) { return fmt::format("{}", v); }
std::string text_of(const std::string& v) { return v; }

std::string text_of(const std::vector<std::string>& v) {
  if (v.empty()) return "\"\"";
  std::string out;
  for (const std::string& item : v) out += (out.empty() ? "" : ",") + word_of(item, ",");
  return out == "\"\"" ? out + ',' : out;  // one empty item, and not the empty list
}

std::string text_of(CompilerChoice v) { return std::string(compilers[static_cast<size_t>(v)]); }
std::string text_of(OtherSizes v) { return std::string(other_sizes[static_cast<size_t>(v)]); }
std::string text_of(CudaGraphs v) { return std::string(cuda_graphs[static_cast<size_t>(v)]); }
std::string text_of(NonFinite v) { return std::string(nonfinites[static_cast<size_t>(v)]); }
std::string text_of(LossScaling v) { return std::string(loss_scalings[static_cast<size_t>(v)]); }
std::string text_of(const Target& v) { return target_word(v); }
std::string text_of(const Device& v) { return v.text(); }

std::string text_of(const MemoryBudget& v) {
  if (!v.given()) return "none";
  return v.is_percent() ? fmt::format("{}%", v.percentage()) : size_text(v.bytes(0));
}

std::string text_of(const std::optional<DType>& v) { return v ? std::string(name_of(*v)) : "none"; }

Status read_value(std::string_view text, bool& v) {
  if (text != "true" && text != "false") return wrong_kind();
  v = text == "true";
  return {};
}
Status read_value(std::string_view text, int& v) { return read_number(text, v); }
Status read_value(std::string_view text, int64_t& v) { return read_number(text, v); }
Status read_value(std::string_view text, uint64_t& v) { return read_number(text, v); }
Status read_value(std::string_view text, double& v) { return read_number(text, v); }
Status read_value(std::string_view text, std::string& v) {
  v = text;
  return {};
}

Status read_value(std::string_view text, std::vector<std::string>& v) {
  std::vector<std::string> items;
  if (text == "\"\"" || text == "''") text = {};
  while (!text.empty()) {
    const Result<size_t> end = end_of_word(text, ",");
    if (!end.ok() || *end == 0 || (*end < text.size() && text[*end] != ',')) return wrong_kind();
    Result<std::string> item = text_of_word(text.substr(0, *end));
    if (!item.ok()) return wrong_kind();
    items.push_back(*std::move(item));
    text.remove_prefix(std::min(*end + 1, text.size()));
  }
  v = std::move(items);
  return {};
}

Status read_value(std::string_view text, CompilerChoice& v) {
  return read_name(text, compilers, v);
}
Status read_value(std::string_view text, OtherSizes& v) { return read_name(text, other_sizes, v); }
Status read_value(std::string_view text, CudaGraphs& v) { return read_name(text, cuda_graphs, v); }
Status read_value(std::string_view text, NonFinite& v) { return read_name(text, nonfinites, v); }
Status read_value(std::string_view text, LossScaling& v) {
  return read_name(text, loss_scalings, v);
}

Status read_value(std::string_view text, Target& v) {
  CLEAVE_TRY(v, parse_target_word(text));
  return {};
}

Status read_value(std::string_view text, Device& v) {
  const std::optional<Device> device = device_named(text);
  if (!device) return wrong_kind();
  v = *device;
  return {};
}

Status read_value(std::string_view text, MemoryBudget& v) {
  v = {};
  if (text == "none") return {};
  const Result<MemoryBudget> budget = parse_budget(std::string(text));
  if (!budget.ok()) return wrong_kind();
  v = *budget;
  return {};
}

Status read_value(std::string_view text, std::optional<DType>& v) {
  v.reset();
  if (text == "none") return {};
  for (int k = 0; k < dtype_count; ++k)
    if (text == name_of(static_cast<DType>(k))) v = static_cast<DType>(k);
  return v ? Status() : wrong_kind();
}

}  // namespace cleave
