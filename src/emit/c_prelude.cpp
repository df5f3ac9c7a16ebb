// The text before the kernels: fixed-width types, the functions of libm, and those of the headers
// of this folder, each included only if a kernel uses it.
//
//   kernel_functions, elementary_functions    unchanged, for one element
//   lane_words                                for 16 lanes, and for 64
//   lane_scale, elementary_functions          for 16 lanes
//   lane_memory                               and operations on 64 lanes as four times 16
//   lane_philox                               random bits for 16 lanes
//
// A macro invocation at the top level, such as MIN_MAX(float, f32), is expanded here.
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emit/c_source.h"
#include "kernel_text.inc"

namespace cleave::emit {
namespace {

constexpr const char* types = R"(typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
float sinf(float);
float cosf(float);
float tanf(float);
float asinf(float);
float acosf(float);
float atanf(float);
float sinhf(float);
float coshf(float);
float asinhf(float);
float acoshf(float);
float atanhf(float);
float expm1f(float);
float log1pf(float);
float log2f(float);
float log10f(float);
float exp2f(float);
float powf(float, float);
float fmodf(float, float);
float atan2f(float, float);
double sin(double);
double cos(double);
double tan(double);
double asin(double);
double acos(double);
double atan(double);
double sinh(double);
double cosh(double);
double tanh(double);
double asinh(double);
double acosh(double);
double atanh(double);
double exp(double);
double exp2(double);
double expm1(double);
double log(double);
double log1p(double);
double log2(double);
double log10(double);
double erf(double);
double pow(double, double);
double fmod(double, double);
double atan2(double, double);
)";

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Calls `word` with each identifier and number of the text, `other` with the text between them.
template <class Word, class Other>
void scan(std::string_view text, Word word, Other other) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    const bool named = in_word(text[at]);
    while (end < text.size() && in_word(text[end]) == named) ++end;
    if (named)
      word(text.substr(at, end - at));
    else
      other(text.substr(at, end - at));
    at = end;
  }
}

void add_words(std::string_view text, std::unordered_set<std::string_view>& to) {
  scan(text, [&](std::string_view w) { to.insert(w); }, [](std::string_view) {});
}

std::string replaced(std::string_view text, const auto& of_word) {
  std::string out;
  scan(
      text, [&](std::string_view w) { out += of_word(w); },
      [&](std::string_view between) { out += between; });
  return out;
}

// elementary_functions for lanes: float is f32x16, exp_f32 is exp_f32x16.
std::string for_lanes(std::string_view text) {
  static const std::unordered_map<std::string_view, std::string> types = {
      {"float", "f32"},   {"double", "f64"},   {"int32_t", "i32"},
      {"int64_t", "i64"}, {"uint32_t", "u32"}, {"uint16_t", "u16"}};
  return replaced(text, [&](std::string_view w) {
    if (auto type = types.find(w); type != types.end()) return type->second + "x16";
    const std::string_view end = w.substr(w.rfind('_') == w.npos ? 0 : w.rfind('_') + 1);
    const bool typed = end == "f32" || end == "f64" || end == "i32" || end == "i64" ||
                       end == "u32" || end == "u16" || end == "bf16" || end == "f16";
    return typed ? std::string(w) + "x16" : std::string(w);
  });
}

std::string for_64(std::string_view text) {
  return replaced(text, [](std::string_view w) {
    const size_t at = w.find("x16");
    return at == w.npos ? std::string(w) : std::string(w).replace(at, 3, "x64");
  });
}

struct Macro {
  std::vector<std::string> parameters;
  std::string body;
};

std::vector<std::string> comma_separated(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t end = 0, depth = 0;
    while (end < text.size() && (depth > 0 || text[end] != ',')) {
      depth += text[end] == '(';
      depth -= text[end++] == ')';
    }
    const size_t first = text.find_first_not_of(' ');
    out.emplace_back(text.substr(first, end - first));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string expanded(const Macro& macro, const std::vector<std::string>& arguments) {
  std::string out = replaced(macro.body, [&](std::string_view w) {
    for (size_t p = 0; p < macro.parameters.size(); ++p)
      if (macro.parameters[p] == w) return arguments[p];
    return std::string(w);
  });
  for (size_t at; (at = out.find("##")) != out.npos;) out.erase(at, 2);
  return out;
}

// A definition, or a macro that isn't expanded here.
struct Item {
  std::string text, name;
};

// These macros aren't expanded here, since they take expressions.
bool macro_of_kernels(const std::string& name) {
  return name == "INLINE" || name.starts_with("EACH") || name.starts_with("REPAIR") ||
         name.starts_with("to_") || name.starts_with("narrow_");
}

class Items {
 public:
  void add(std::string_view text) {
    while (!text.empty()) {
      size_t end = item_end(text);
      std::string_view item = text.substr(0, end);
      text.remove_prefix(end);
      const size_t first = item.find_first_not_of(" \n");
      if (first != item.npos) take(item.substr(first));
    }
  }
  std::vector<Item> items;

 private:
  // Ends at a line end where all braces are closed and there is no backslash continuation.
  static size_t item_end(std::string_view text) {
    const size_t first = text.find_first_not_of(" \n");
    const bool define = first != text.npos && text.substr(first).starts_with("#define");
    size_t at = 0, depth = 0;
    for (; at < text.size(); ++at) {
      if (text[at] == '{' || text[at] == '(') ++depth;
      if (text[at] == '}' || text[at] == ')') --depth;
      if (text[at] != '\n') continue;
      if (at > first && (define ? text[at - 1] != '\\' : depth == 0)) return at + 1;
    }
    return at;
  }
  void take(std::string_view item) {
    const size_t open = item.find('(');
    if (item.starts_with("#define ")) {
      const std::string name(item.substr(8, item.find_first_of("( ", 8) - 8));
      const size_t close = item.find(')', open);
      if (macro_of_kernels(name)) return keep(item, name);
      std::string body(item.substr(close + 1));
      for (size_t at; (at = body.find("\\\n")) != body.npos;) {
        size_t blank = at;
        while (blank > 0 && body[blank - 1] == ' ') --blank;
        body.erase(blank, at + 1 - blank);
      }
      macros_[name] = {comma_separated(item.substr(open + 1, close - open - 1)), body};
      return;
    }
    if (auto macro = macros_.find(std::string(item.substr(0, open))); macro != macros_.end()) {
      const size_t close = item.rfind(')');
      return add(expanded(macro->second, comma_separated(item.substr(open + 1, close - open - 1))) +
                 "\n");
    }
    // The name precedes the parameters; a type's name is at the end, or before the attribute.
    size_t end = open;
    if (item.starts_with("typedef")) end = std::min(item.find(" __attribute__"), item.find(';'));
    if (item.starts_with("enum")) end = item.find(" =");
    size_t begin = end;
    while (begin > 0 && in_word(item[begin - 1])) --begin;
    keep(item, std::string(item.substr(begin, end - begin)));
  }
  void keep(std::string_view item, const std::string& name) {
    if (names_.insert(name).second) items.push_back({std::string(item), name});
  }

  std::unordered_map<std::string, Macro> macros_;
  std::unordered_set<std::string> names_;
};

const std::vector<Item>& all_items() {
  static const std::vector<Item> items = [] {
    Items out;
    out.add(types);
    out.add(kernel_functions_text);
    out.add(elementary_functions_text);
    out.add(lane_words_text);
    out.add(lane_scale_text);
    out.add(for_lanes(elementary_functions_text));
    out.add(for_64(lane_words_text).replace(0, 0, "enum { lanes_x64 = 64 };\n"));
    out.add(lane_memory_text);
    out.add(lane_philox_text);
    return out.items;
  }();
  return items;
}

}  // namespace

std::string c_prelude() {
  std::string out;
  for (const Item& i : all_items()) out += i.text;
  return out;
}

std::string c_prelude_for(const std::string& kernels) {
  const std::vector<Item>& items = all_items();
  std::unordered_set<std::string_view> wanted;
  add_words(kernels, wanted);
  // A definition precedes its uses, so the items are visited in reverse.
  std::vector<bool> used(items.size());
  for (size_t i = items.size(); i-- > 0;) {
    used[i] = wanted.contains(items[i].name);
    if (used[i]) add_words(items[i].text, wanted);
  }
  std::string out;
  for (size_t i = 0; i < items.size(); ++i)
    if (used[i]) out += items[i].text;
  return out;
}

}  // namespace cleave::emit
