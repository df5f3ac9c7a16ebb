// Reading and printing with the toy operators.
#pragma once
#include <gtest/gtest.h>

#include "ir/text.h"
#include "test/ir/toy_ops.h"

namespace cleave {

inline const OpRegistry& toys() {
  static const OpRegistry ops = toy_ops();
  return ops;
}

inline Result<Program> try_read(std::string_view text) { return parse(text, "t.clv", toys()); }

// The program, or a test failure and an empty one.
inline Program read(std::string_view text) {
  auto p = try_read(text);
  if (p.ok()) return *std::move(p);
  ADD_FAILURE() << p.failure().message;
  Program empty;
  return empty;
}

inline std::string refusal(std::string_view text) {
  auto p = try_read(text);
  return p.ok() ? "accepted" : p.failure().message;
}

inline std::string broken_rule(const Graph& g) {
  Status s = verify(g);
  return s.ok() ? "" : s.failure().message;
}

// A graph with the body between a header of `head` and its end.
inline std::string graph_text(const std::string& head, const std::string& body) {
  return "graph @main(" + head + ") {\n" + body + "}\n";
}

}  // namespace cleave
