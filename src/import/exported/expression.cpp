// A parser by descent: sums, products, powers, calls.
#include "import/exported/expression.h"

#include <algorithm>
#include <charconv>

#include "base/printable.h"

namespace cleave::exported {
namespace {

constexpr size_t longest_text = 1 << 16;
constexpr int deepest = 64;
constexpr int64_t largest_power = 8;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Result<Dim> power(const Dim& base, const Dim& exponent) {
  if (!exponent.is_const() || exponent.value() < 0 || exponent.value() > largest_power)
    return unsupported("a power with the exponent {}", exponent.text());
  Dim out = 1;
  for (int64_t k = 0; k < exponent.value(); ++k) out = out * base;
  return out;
}

Result<Dim> quotient(const Dim& a, const Dim& b) {
  if (b.is_const() && b.value() < 1) return user_error("a division by {}", b.value());
  return Dim::floordiv(a, b);
}

Result<Dim> rest(const Dim& a, const Dim& b) {
  if (b.is_const() && b.value() < 1) return user_error("a division by {}", b.value());
  return Dim::mod(a, b);
}

Result<Dim> evaluate(std::string_view name, const std::vector<Dim>& args) {
  const auto folded = [&](auto f) -> Result<Dim> {
    if (args.empty()) return user_error("{}() has no argument", name);
    Dim out = args[0];
    for (size_t k = 1; k < args.size(); ++k) out = f(out, args[k]);
    return out;
  };
  if (name == "Add") return folded([](const Dim& a, const Dim& b) { return a + b; });
  if (name == "Mul") return folded([](const Dim& a, const Dim& b) { return a * b; });
  if (name == "Max") return folded([](const Dim& a, const Dim& b) { return Dim::max(a, b); });
  if (name == "Min") return folded([](const Dim& a, const Dim& b) { return Dim::min(a, b); });
  const size_t wanted = name == "Integer" ? 1 : name == "ModularIndexing" ? 3 : 2;
  if (args.size() != wanted) return unsupported("{} of {} arguments", printable(name), args.size());
  if (name == "Integer") return args[0];
  if (name == "Pow") return power(args[0], args[1]);
  if (name == "FloorDiv" || name == "CleanDiv") return quotient(args[0], args[1]);
  if (name == "CeilDiv") return quotient(args[0] + args[1] - 1, args[1]);
  if (name == "Mod" || name == "PythonMod") return rest(args[0], args[1]);
  if (name == "ModularIndexing") {
    CLEAVE_TRY(const Dim q, quotient(args[0], args[1]));
    return rest(q, args[2]);
  }
  return unsupported("the function {}", printable(name));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Dim> read() {
    CLEAVE_TRY(Dim d, sum(0));
    skip();
    if (at_ < text_.size()) return unexpected();
    return d;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  Failure unexpected() const {
    return user_error("{} is not expected at {}", printable(text_.substr(at_, 20)), at_);
  }

  Result<Dim> sum(int depth) {
    CLEAVE_TRY(Dim d, product(depth));
    while (true) {
      if (take("+")) {
        CLEAVE_TRY(const Dim b, product(depth));
        d = d + b;
      } else if (take("-")) {
        CLEAVE_TRY(const Dim b, product(depth));
        d = d - b;
      } else {
        return d;
      }
    }
  }

  Result<Dim> product(int depth) {
    CLEAVE_TRY(Dim d, factor(depth));
    while (true) {
      if (take("//")) {
        CLEAVE_TRY(const Dim b, factor(depth));
        CLEAVE_TRY(d, quotient(d, b));
      } else if (take("%")) {
        CLEAVE_TRY(const Dim b, factor(depth));
        CLEAVE_TRY(d, rest(d, b));
      } else if (take("*")) {
        CLEAVE_TRY(const Dim b, factor(depth));
        d = d * b;
      } else {
        return d;
      }
    }
  }

  Result<Dim> factor(int depth) {
    if (depth >= deepest) return user_error("more than {} levels", deepest);
    if (take("-")) {
      CLEAVE_TRY(const Dim d, factor(depth + 1));
      return Dim(0) - d;
    }
    CLEAVE_TRY(Dim base, atom(depth));
    if (!take("**")) return base;
    CLEAVE_TRY(const Dim exponent, factor(depth + 1));
    return power(base, exponent);
  }

  Result<Dim> atom(int depth) {
    if (take("(")) {
      CLEAVE_TRY(Dim d, sum(depth + 1));
      if (!take(")")) return unexpected();
      return d;
    }
    skip();
    if (at_ < text_.size() && is_digit(text_[at_])) return number();
    const std::string_view name = word();
    if (name.empty()) return unexpected();
    if (!take("(")) return symbol(name);
    if (name == "Symbol") return quoted_symbol();
    std::vector<Dim> args;
    if (take(")")) return evaluate(name, args);
    do {
      CLEAVE_TRY(Dim d, sum(depth + 1));
      args.push_back(std::move(d));
    } while (take(","));
    if (!take(")")) return unexpected();
    return evaluate(name, args);
  }

  Result<Dim> number() {
    int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc()) return user_error("a number beyond 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return Dim(v);
  }

  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_]))))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  static Result<Dim> symbol(std::string_view name) {
    if (!is_symbol_name(name)) return user_error("{} is no symbol", printable(name));
    if (name[0] == 'u')
      return unsupported("{}: a size that depends on the data (of nonzero, item, ...)", name);
    return Dim::symbol(std::string(name));
  }

  // 's77', positive=True, integer=True)
  Result<Dim> quoted_symbol() {
    if (!take("'")) return unexpected();
    const size_t end = text_.find('\'', at_);
    if (end == text_.npos) return unexpected();
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    while (take(",")) {
      if (word().empty() || !take("=") || word().empty()) return unexpected();
    }
    if (!take(")")) return unexpected();
    return symbol(name);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool is_symbol_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && is_letter(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); });
}

Result<Dim> read_expression(std::string_view text) {
  if (text.size() > longest_text)
    return user_error("an expression of {} bytes, at most {}", text.size(), longest_text);
  Result<Dim> d = Reader(text).read();
  if (!d.ok()) return std::move(d).failure().within(fmt::format("expression {}", printable(text)));
  return d;
}

Result<Dim> dim_of(const SymValue& v) {
  if (v.number) return Dim(*v.number);
  return read_expression(v.expression);
}

}  // namespace cleave::exported
