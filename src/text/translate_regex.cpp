#include "text/translate_regex.h"

#include <algorithm>
#include <cctype>

#include "text/regex_sets.h"

namespace cleave::text {
namespace {

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        CLEAVE_CHECK(escape(false));
      } else if (c == '[') {
        CLEAVE_CHECK(set());
      } else if (c == '(' && next(1) == '?') {
        CLEAVE_CHECK(group());
      } else if (c == '(' && next(1) == '*') {
        return refused("a group (*");
      } else if (c == '{' && next(1) == ',') {
        out_ += "{0,";
        at_ += 2;
      } else if (c == '}' && next(1) == '+') {
        return refused("a quantifier {n,m}+");
      } else {
        out_ += c;
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  // 0 beyond the end.
  char next(size_t ahead) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  Failure refused(std::string_view what) const {
    return unsupported("regular expression {}: {} at byte {} isn't covered", shown_pattern(in_),
                       what, at_);
  }
  Failure unfinished(std::string_view what) const {
    return user_error("regular expression {}: {} has no end", shown_pattern(in_), what);
  }
  void take(std::string_view text, size_t bytes) {
    out_ += text;
    at_ += bytes;
  }
  // What stands inside brackets; in brackets of its own where it doesn't yet.
  void take_set(std::string_view text, bool in_set, bool negated, size_t bytes) {
    if (in_set)
      take(text, bytes);
    else
      take(fmt::format("[{}{}]", negated ? "^" : "", text), bytes);
  }

  Status escape(bool in_set) {
    const char c = next(1);
    switch (c) {
      case '\0': return unfinished("an escape");
      case 's': take_set(white_space, in_set, false, 2); return {};
      case 'S':
        if (in_set)
          take(R"(\P{White_Space})", 2);
        else
          take_set(white_space, false, true, 2);
        return {};
      case 'w':
        if (in_set)
          take(word, 2);
        else
          take_set(fmt::format("{}{}", word, word_digits), false, false, 2);
        return {};
      case 'W':
        if (in_set) return refused("\\W in a set");
        take_set(fmt::format("{}{}", word, word_digits), false, true, 2);
        return {};
      case 'p':
      case 'P': return property(in_set);
      case 'x': return hexadecimal();
      case 'u': return four_digits();
      case 'd':
      case 'D':
      case 't':
      case 'n':
      case 'r':
      case 'f':
      case 'v':
      case 'a':
      case 'e':
      case '0': break;
      case 'A':
      case 'z':
      case 'Z':
        if (in_set) return refused(fmt::format("\\{} in a set", c));
        break;
      default:
        if (std::isalnum(static_cast<unsigned char>(c))) return refused(fmt::format("\\{}", c));
    }
    if (c == 'v') {  // one character here, a class in PCRE2
      take("\\x{0b}", 2);
      return {};
    }
    // A code point in full.
    size_t bytes = 2;
    while (at_ + bytes < in_.size() && (static_cast<uint8_t>(in_[at_ + bytes]) & 0xc0) == 0x80)
      ++bytes;
    take(in_.substr(at_, bytes), bytes);
    return {};
  }

  // \p{Name}, \p{^Name}, \P{Name}.
  Status property(bool in_set) {
    const size_t end = in_.find('}', at_);
    if (next(2) != '{' || end == std::string_view::npos) return unfinished("\\p{");
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    bool negated = next(1) == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const size_t bytes = end + 1 - at_;
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; }) ||
        name.empty())
      return refused(fmt::format("the property {}", printable(name)));
    const char* p = negated ? "\\P" : "\\p";
    if (name.size() <= 2) {
      take(fmt::format("{}{{{}}}", p, name), bytes);
      return {};
    }
    std::string plain;
    for (const unsigned char c : name)
      if (c != '_') plain += static_cast<char>(std::tolower(c));
    const auto known = property_set(plain);
    if (!known) {
      take(fmt::format("{}{{sc:{}}}", p, name), bytes);  // a script, or PCRE2 refuses it
    } else if (negated && in_set) {
      return refused(fmt::format("the negated property {} in a set", name));
    } else {
      take_set(*known, in_set, negated, bytes);
    }
    return {};
  }

  // \x{1F600}, or \x41, which is a byte.
  Status hexadecimal() {
    if (next(2) == '{') {
      const size_t end = in_.find('}', at_);
      if (end == std::string_view::npos) return unfinished("\\x{");
      take(in_.substr(at_, end + 1 - at_), end + 1 - at_);
      return {};
    }
    if (next(2) < '0' || next(2) > '7' || !std::isxdigit(static_cast<unsigned char>(next(3))))
      return refused("\\x of a single byte");
    take(in_.substr(at_, 4), 4);
    return {};
  }

  Status four_digits() {
    for (size_t i = 2; i < 6; ++i)
      if (!std::isxdigit(static_cast<unsigned char>(next(i)))) return unfinished("\\u");
    take(fmt::format("\\x{{{}}}", in_.substr(at_ + 2, 4)), 6);
    return {};
  }

  // Groups of options mean the same but for m, which is PCRE2's s; named groups and looks too.
  Status group() {
    const char c = next(2), after = next(3);
    if (c == '\0') return unfinished("a group");
    if (std::string_view(":=!>#").find(c) != std::string_view::npos ||
        (c == '<' && (after == '=' || after == '!'))) {
      take(in_.substr(at_, 3), 3);
      return {};
    }
    size_t i = 2;
    std::string options = "(?";
    for (; std::string_view("im-").find(next(i)) != std::string_view::npos; ++i)
      options += next(i) == 'm' ? 's' : next(i);
    if (next(i) != ':' && next(i) != ')') return refused(fmt::format("a group (?{}", c));
    take(options, i);
    return {};
  }

  Status set() {
    take("[", 1);
    if (next(0) == '^') take("^", 1);
    if (next(0) == ']') take("\\]", 1);
    while (at_ < in_.size() && in_[at_] != ']') {
      if (in_[at_] == '\\') {
        CLEAVE_CHECK(escape(true));
      } else if (in_[at_] == '[') {
        CLEAVE_CHECK(posix_class());
      } else if (in_[at_] == '&' && next(1) == '&') {
        return refused("an intersection of sets");
      } else {
        take(in_.substr(at_, 1), 1);
      }
    }
    if (at_ == in_.size()) return unfinished("a set");
    take("]", 1);
    return {};
  }

  // [:alpha:]
  Status posix_class() {
    const size_t end = in_.find(":]", at_);
    if (next(1) != ':' || end == std::string_view::npos) return refused("a set in a set");
    const std::string_view name = in_.substr(at_ + 2, end - at_ - 2);
    constexpr std::string_view covered[] = {"alpha", "alnum", "digit", "lower", "space", "upper"};
    if (std::ranges::find(covered, name) == std::end(covered))
      return refused(fmt::format("the class [:{}:]", name));
    take(*property_set(name), end + 2 - at_);
    return {};
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string shown_pattern(std::string_view pattern) {
  std::string text = "/";
  for (const char c : pattern.substr(0, 100)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + (pattern.size() > 100 ? ".../" : "/");
}

Result<std::string> translate_regex(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace cleave::text
