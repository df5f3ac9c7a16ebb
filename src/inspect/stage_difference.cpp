#include "inspect/stage_difference.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <unordered_map>

#include "exec/executable.h"
#include "ir/text.h"

namespace cleave {
namespace {

// Without the source lines, "  # model.cpp:12" behind a call: programs that stand elsewhere are the
// same. A '#' within quotes is part of the line.
std::string without_sources(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line); out += line + '\n')
    if (const size_t at = line.rfind("  # ");
        at != std::string::npos && line.find('"', at) == std::string::npos)
      line.resize(at);
  return out;
}

struct Recorder : CompileObserver {
  explicit Recorder(StageRecord& to) : record(to) {}
  void after(std::string_view stage, const StageText& text) override {
    record.stages.push_back({std::string(stage), without_sources(text())});
  }
  StageRecord& record;
};

// ---- texts but for the names of values

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Calls f(word, is_value) for each word, and g(c) for what stands between; is_value: behind a '%',
// where words have dots too.
template <class F, class G>
void each_word(std::string_view text, const F& f, const G& g) {
  for (size_t at = 0; at < text.size();) {
    const bool is_value = at > 0 && text[at - 1] == '%';
    size_t end = at;
    while (end < text.size() && (in_word(text[end]) || (is_value && text[end] == '.'))) ++end;
    if (end > at)
      f(text.substr(at, end - at), is_value);
    else
      g(text[end++]);
    at = end;
  }
}

using Names = std::set<std::string, std::less<>>;

void add_names(const StageRecord& r, Names& out) {
  for (const auto& [stage, text] : r.stages)
    each_word(
        text,
        [&](std::string_view word, bool is_value) {
          if (is_value) out.emplace(word);
        },
        [](char) {});
}

// The value's name in a word of C text: all of it, or behind the number of a kernel, "k3_sum".
size_t name_in(std::string_view word) {
  size_t at = 1;
  while (at < word.size() && std::isdigit(static_cast<unsigned char>(word[at]))) ++at;
  return word[0] == 'k' && at > 1 && at < word.size() && word[at] == '_' ? at + 1 : 0;
}

// Each name is a number, in the order in which they first occur.
std::string numbered(const std::string& text, const Names& names) {
  std::unordered_map<std::string_view, size_t> numbers;
  std::string out;
  each_word(
      text,
      [&](std::string_view word, bool is_value) {
        const size_t from = is_value ? 0 : name_in(word);
        const std::string_view name = word.substr(from);
        out += word.substr(0, from);
        const bool is_pointer = name.ends_with('_');  // "sum_", to the value's memory
        if (is_value || from > 0 || names.contains(name.substr(0, name.size() - is_pointer)))
          out += fmt::format("{}", numbers.try_emplace(name, numbers.size()).first->second);
        else
          out += name;
      },
      [&](char c) { out += c; });
  return out;
}

StageRecord numbered(const StageRecord& r, const Names& names) {
  StageRecord out;
  for (const auto& [stage, text] : r.stages) out.stages.push_back({stage, numbered(text, names)});
  return out;
}

// ---- where they differ

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream from(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(from, line);) out.push_back(line);
  return out;
}

const std::string* text_at(const StageRecord& r, size_t stage) {
  return stage < r.stages.size() ? &r.stages[stage].text : nullptr;
}

std::string line_at(const std::string* text, size_t line) {
  const std::vector<std::string> lines = lines_of(text ? *text : "");
  return line < lines.size() ? lines[line] : "";
}

bool same(const StageRecord::Left& a, const StageRecord::Left& b) {
  return a.stage == b.stage && a.text == b.text;
}

}  // namespace

Result<StageRecord> record_stages(const Graph& g, const OpRegistry& ops, StageOptions options) {
  StageRecord out;
  out.stages.push_back({"graph", without_sources(print(g))});
  options.cache = nullptr;
  options.cache_dir.clear();
  options.observers = {std::make_shared<Recorder>(out)};
  CLEAVE_TRY(const auto program, CompiledProgram::compile(g, ops, options));
  out.report = program->report();
  return out;
}

StageDifference stage_difference(const StageRecord& a, const StageRecord& b) {
  StageDifference out;
  Names names;
  add_names(a, names);
  add_names(b, names);
  const StageRecord left = numbered(a, names), right = numbered(b, names);
  const auto stage = static_cast<size_t>(
      std::ranges::mismatch(left.stages, right.stages, same).in1 - left.stages.begin());
  const std::string *x = text_at(left, stage), *y = text_at(right, stage);
  if (!x && !y) return out;
  out.stage = (x ? a : b).stages[stage].stage;
  const std::vector<std::string> p = lines_of(x ? *x : ""), q = lines_of(y ? *y : "");
  const auto line = static_cast<size_t>(std::ranges::mismatch(p, q).in1 - p.begin());
  out.line = static_cast<int64_t>(line) + 1;
  out.a = line_at(text_at(a, stage), line);
  out.b = line_at(text_at(b, stage), line);
  for (size_t k = 1; k <= std::min(left.stages.size(), right.stages.size()); ++k) {
    const StageRecord::Left& last = left.stages[left.stages.size() - k];
    if (!same(last, right.stages[right.stages.size() - k])) break;
    out.same_from = last.stage;
  }
  return out;
}

}  // namespace cleave
