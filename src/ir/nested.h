// Counts the nesting depth of what is being read, which text_limit bounds.
#pragma once
#include "ir/lex.h"

namespace cleave {

struct Nesting {
  int most;
  const char* called;  // "levels of brackets"
  int levels = 0;
};

// Adds one level during its lifetime.
class Nested {
 public:
  explicit Nested(Nesting& nesting) : nesting_(nesting) { ++nesting_.levels; }
  ~Nested() { --nesting_.levels; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  Status check(const Lexer& lex, uint32_t at) const {
    if (nesting_.levels <= nesting_.most) return {};
    return lex.error(at, rule::limit, "more than {} {}", nesting_.most, nesting_.called);
  }

 private:
  Nesting& nesting_;
};

}  // namespace cleave
