// See share_functions.h. A kernel's key is its text with its own names numbered and the numbers
// that may become arguments left out; kernels with equal keys are a family. Only numbers that
// differ within a family become arguments, and those that differ in the same way share one.
#include "emit/share_functions.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "emit/c_tokens.h"

namespace cleave::emit {
namespace {

// For loops of fewer iterations, and smaller factors, constants are worth more to the compiler.
constexpr int64_t min_extent = 8, min_number = 3;
constexpr size_t max_values_told = 6;

int64_t integer(std::string_view text) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() ? value : 0;
}

float single(std::string_view text) { return std::strtof(std::string(text).c_str(), nullptr); }

// i32 arithmetic must not use an argument, which has 64 bits. Names of prelude functions show it.
bool names_narrow(std::string_view word) {
  if (word == "int" || word == "char" || word == "short") return true;
  return std::ranges::any_of(
             std::initializer_list<std::string_view>{"i32", "u32", "i16", "u8", "i8", "int32",
                                                     "int16", "int8"},
             [&](std::string_view t) { return word.find(t) != word.npos; }) &&
         word != "uint16_t";
}

// What is known about one kernel's text.
class KernelText {
 public:
  explicit KernelText(const CKernel& kernel) : tokens_(tokens_of(kernel.text)) {
    find_names();
    for (size_t p = 0; p < kernel.phases.size(); ++p)
      names_.insert_or_assign(kernel.phases[p].symbol, Name{names_.size(), false});
    write_key();
  }

  std::string key;
  std::vector<std::string_view> numbers;  // that may become arguments, in order
  bool has_name(const std::string& stem) const {
    return std::ranges::any_of(names_, [&](const auto& n) { return n.first.starts_with(stem); });
  }

 private:
  struct Name {
    size_t number = 0;
    bool narrow = false;
  };

  std::string_view at(size_t i) const { return i < tokens_.size() ? tokens_[i].text : ""; }
  bool is_word(size_t i) const { return i < tokens_.size() && tokens_[i].kind == TokenKind::word; }

  // Names that the text declares: TYPE NAME =, TYPE *restrict NAME =, TYPE NAME[, TYPE NAME;
  void find_names() {
    for (size_t i = 2; i + 1 < tokens_.size(); ++i) {
      if (!is_word(i)) continue;
      size_t type = i - 1;
      if (at(type) == "restrict") --type;
      if (at(type) == "*") {
        if (at(i + 1) != "=" || at(i + 2) != "buffer") continue;
        --type;
      } else if (at(i + 1) != "=" && at(i + 1) != "[" && at(i + 1) != ";") {
        continue;
      }
      if (!is_word(type) || at(type) == "return" || at(type) == "else") continue;
      names_.try_emplace(tokens_[i].text, Name{names_.size(), names_narrow(at(type))});
    }
  }

  // For each token that begins a line, up to the next: whether the line has i32 arithmetic.
  std::vector<bool> narrow_lines() const {
    std::vector<bool> out(tokens_.size());
    for (size_t begin = 0; begin < tokens_.size();) {
      size_t end = begin;
      bool narrow = false;
      do {
        if (is_word(end)) {
          const auto name = names_.find(at(end));
          narrow = narrow || (name == names_.end() ? names_narrow(at(end)) : name->second.narrow);
        }
      } while (++end < tokens_.size() && !tokens_[end].begins_line);
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
                out.begin() + static_cast<std::ptrdiff_t>(end), narrow);
      begin = end;
    }
    return out;
  }

  void write_key() {
    const std::vector<bool> narrow = narrow_lines();
    std::vector<size_t> calls;  // per open parenthesis: the index of its function's name, or 0
    size_t depth = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      if (t.text == "{") ++depth;
      if (t.text == "}") --depth;
      if (t.text == "(") calls.push_back(i > 0 && is_word(i - 1) ? i - 1 : 0);
      if (t.text == ")" && !calls.empty()) calls.pop_back();
      const std::string_view function = calls.empty() || calls.back() == 0 ? "" : at(calls.back());
      const bool free = t.kind == TokenKind::integer    ? !narrow[i] && may_vary(i, depth, function)
                        : t.kind == TokenKind::floating ? single_may_vary(i, depth)
                                                        : false;
      if (free) {
        key += t.kind == TokenKind::integer ? "\1" : "\2";
        numbers.push_back(t.text);
      } else if (const auto name = names_.find(t.text); name != names_.end()) {
        key += '\3' + std::to_string(name->second.number);
      } else {
        key += t.text;
      }
      key += ' ';
    }
  }

  bool may_vary(size_t i, size_t depth, std::string_view function) const {
    const std::string_view before = i > 0 ? at(i - 1) : "", after = at(i + 1);
    const int64_t value = integer(at(i));
    const bool in_head = function == "for";
    if (value < (in_head ? min_extent : min_number)) return false;
    if (before == "[" || before == "return") return false;
    if (before == "=" && i > 1 && at(i - 2) == "+") return false;  // a step
    if ((before == "<" || before == ">") && i > 1 && at(i - 2) == before) return false;
    if (before == "/" || before == "%") return depth == 2 && has_inner_loop(i);
    const bool alone = (before == "(" || before == ",") && (after == "," || after == ")");
    if (!function.empty() && !in_head && alone)
      return function == "min_i64" || function == "max_i64";
    return true;
  }

  // A division by a constant power of two is compiled as a product.
  bool single_may_vary(size_t i, size_t depth) const {
    const float value = single(at(i));
    if (value == 0 || value == 0.5f || value == 1 || value == 2) return false;
    return depth <= 2 || i == 0 || at(i - 1) != "/";
  }

  // Searches the rest of the parallel loop's body.
  bool has_inner_loop(size_t i) const {
    for (size_t depth = 2; i < tokens_.size() && depth >= 2; ++i) {
      if (at(i) == "for") return true;
      if (at(i) == "{") ++depth;
      if (at(i) == "}") --depth;
    }
    return false;
  }

  std::vector<Token> tokens_;
  std::unordered_map<std::string_view, Name> names_;
};

struct Argument {
  bool is_single = false;
  std::vector<std::string_view> values;  // of each member
};

class Family {
 public:
  std::vector<size_t> members;

  // Chooses the arguments, and for each number of the text the argument that replaces it.
  void choose(const std::vector<KernelText>& texts) {
    std::unordered_map<std::string, size_t> known;
    const KernelText& first = texts[members[0]];
    for (size_t n = 0; n < first.numbers.size(); ++n) {
      Argument a{first.numbers[n].back() == 'f', {}};
      std::string values;
      bool differ = false;
      for (const size_t m : members) {
        a.values.push_back(texts[m].numbers[n]);
        values += std::string(a.values.back()) + ' ';
        differ = differ || a.values.back() != a.values[0];
      }
      if (!differ) {
        place_.emplace_back();
        continue;
      }
      const auto [at, is_new] = known.try_emplace(values, arguments_.size());
      if (is_new) arguments_.push_back(std::move(a));
      place_.emplace_back(at->second);
    }
    for (stem_ = "number"; first.has_name(stem_);) stem_ += '_';
  }

  // The argument values of the k-th member.
  std::vector<int64_t> values(size_t k) const {
    std::vector<int64_t> out;
    for (const Argument& a : arguments_)
      out.push_back(a.is_single ? std::bit_cast<uint32_t>(single(a.values[k]))
                                : integer(a.values[k]));
    return out;
  }

  // The first member's text with numbers replaced by arguments. `scalars`: the number before them.
  std::string rewritten(const CKernel& kernel, const KernelText& text) const {
    std::string out, phase;
    std::unordered_set<size_t> used;
    const std::string mark = "(void)fault;\n";
    size_t from = 0, head = std::string::npos;
    const auto end_phase = [&] {
      if (head != std::string::npos) phase.insert(head, declarations(kernel.scalars, used));
      out += phase;
      phase.clear();
      used.clear();
      head = std::string::npos;
    };
    const auto copy = [&](size_t to) {
      while (from < to) {
        const size_t at = kernel.text.find(mark, from);
        if (at >= to) break;
        phase += kernel.text.substr(from, at + mark.size() - from);
        from = at + mark.size();
        head = phase.size();
      }
      phase += kernel.text.substr(from, to - from);
      from = to;
    };
    for (size_t n = 0; n < place_.size(); ++n) {
      if (!place_[n]) continue;
      const size_t begin = static_cast<size_t>(text.numbers[n].data() - kernel.text.data());
      // A phase ends at the line that closes its function.
      for (size_t end; (end = kernel.text.find("\n}\n", from)) < begin;) {
        copy(end + 3);
        end_phase();
      }
      copy(begin);
      phase += fmt::format("{}{}", stem_, *place_[n]);
      used.insert(*place_[n]);
      from = begin + text.numbers[n].size();
    }
    copy(std::min(kernel.text.find("\n}\n", from) + 3, kernel.text.size()));
    end_phase();
    return out + kernel.text.substr(from);
  }

 private:
  std::string declarations(size_t scalars, const std::unordered_set<size_t>& used) const {
    std::string out;
    for (size_t a = 0; a < arguments_.size(); ++a) {
      if (!used.contains(a)) continue;
      const std::string from = fmt::format("scalar[{}]", scalars + a);
      out += arguments_[a].is_single
                 ? fmt::format("  const float {}{} = bits_f32((uint32_t){});  //", stem_, a, from)
                 : fmt::format("  const int64_t {}{} = {};  //", stem_, a, from);
      std::vector<std::string_view> told;
      for (const std::string_view v : arguments_[a].values)
        if (std::ranges::find(told, v) == told.end()) told.push_back(v);
      for (size_t k = 0; k < told.size() && k <= max_values_told; ++k)
        out += fmt::format("{}{}", k == 0 ? " " : ", ", k < max_values_told ? told[k] : "...");
      out += '\n';
    }
    return out;
  }

  std::vector<Argument> arguments_;
  std::vector<std::optional<size_t>> place_;
  std::string stem_;
};

}  // namespace

std::vector<std::vector<int64_t>> share_functions(std::vector<CKernel>& kernels) {
  std::vector<KernelText> texts;
  texts.reserve(kernels.size());
  std::vector<Family> families;
  std::unordered_map<std::string_view, size_t> family_of;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelText& text = texts.emplace_back(kernels[k]);
    const auto [at, is_new] = family_of.try_emplace(text.key, families.size());
    if (is_new) families.emplace_back();
    families[at->second].members.push_back(k);
  }
  std::vector<std::vector<int64_t>> arguments(kernels.size());
  for (Family& f : families) {
    if (f.members.size() == 1) continue;
    f.choose(texts);
    for (size_t m = 0; m < f.members.size(); ++m) arguments[f.members[m]] = f.values(m);
    CKernel& first = kernels[f.members[0]];
    std::string text = f.rewritten(first, texts[f.members[0]]);
    for (const size_t m : f.members) {
      kernels[m].text.clear();
      for (size_t p = 0; p < first.phases.size(); ++p)
        kernels[m].phases[p].symbol = first.phases[p].symbol;
    }
    first.text = std::move(text);
  }
  return arguments;
}

}  // namespace cleave::emit
