// Programs that draw graphs: their arguments, the seeds at which they throw, their exit status.
#pragma once
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::random {

// The words after the program's name, counted from 1.
class Arguments {
 public:
  Arguments(int argc, char** argv) : argc_(argc), argv_(argv) {}

  // `otherwise` where there are fewer. Throws (user) where it is no number; `what` names it.
  uint64_t number(int k, std::string_view what, uint64_t otherwise) const {
    if (k >= argc_) return otherwise;
    const std::string_view word = argv_[k];
    const char* end = word.data() + word.size();
    uint64_t value = 0;
    if (auto [p, e] = std::from_chars(word.data(), end, value); e != std::errc() || p != end)
      throw_failure(user_error("{} is '{}', expected a number", what, word));
    return value;
  }
  std::string text(int k, const char* otherwise) const { return k < argc_ ? argv_[k] : otherwise; }

 private:
  int argc_;
  char** argv_;
};

// At once: what comes next may crash.
inline void report(std::string_view text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

// What `check` returns; what it throws is a bug that it found.
template <class Check>
auto caught(const Check& check) -> decltype(check()) {
  try {
    return check();
  } catch (const std::exception& e) { return bug("throws: {}", e.what()); }
}

// A failure as what is wrong with a graph.
inline std::string failing(const Failure& f) { return "fails: " + f.message; }

// Equal for graphs that are wrong in the same way, which is what a smaller graph has to be: the
// same failure, numbers aside, or a difference of the same kind.
inline std::string kind_of(const std::string& wrong) {
  std::string out = wrong.starts_with("fails: ") ? wrong : wrong.substr(0, wrong.find(':'));
  std::erase_if(out, [](unsigned char c) { return std::isdigit(c) != 0; });
  return out;
}

inline bool is_unsupported(const Failure& f) { return f.kind == ErrorKind::unsupported; }

// Does the work of one seed. Returns how often it threw, 0 or 1: what it throws is printed after
// `at`, which names the seed, and is no reason to stop.
template <class Work>
int64_t failures(const std::string& at, const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& e) {
    report(fmt::format("{}: {}\n", at, e.what()));
    return 1;
  }
}

// The status that `run` returns, or 2 where it throws before or after its seeds.
inline int exit_status(int argc, char** argv, int (*run)(const Arguments&)) {
  try {
    return run({argc, argv});
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", argv[0], e.what());
    return 2;
  }
}

}  // namespace cleave::random
