// Reads the literals of the graph text: sizes, types, attribute values.
//
//   size   = sum;  sum = ["-"] product {("+"|"-") product};  product = factor {"*" factor}
//   factor = integer | symbol | function "(" sum "," sum ")" | "(" sum ")" | "-" factor
//   type   = dtype "[" [size {"," size}] "]" ["{" [size {"," size}] "}"] ["@cuda:" integer]
//   value  = none | true | false | size | real | inf | nan | string | dtype | memory format
//          | "[" [value {"," value}] "]" | "@" graph
#pragma once
#include <unordered_map>

#include "ir/graph.h"
#include "ir/nested.h"

namespace cleave {

// The graphs read so far, and the depth of subgraphs in each.
struct NamedGraph {
  GraphRef graph;
  int depth = 1;
};
using GraphTable = std::unordered_map<std::string, NamedGraph>;

class LiteralParser {
 public:
  LiteralParser(Lexer& lex, const GraphTable& graphs) : lex_(lex), graphs_(graphs) {}

  // The symbols that sizes may name: those of the graph being read.
  void set_env(const SymEnv& env) { env_ = &env; }

  Result<Dim> read_size();
  // is_complex: if not null, the type of complex tensors (c64, c128) is that of their parts, and
  // this says so.
  Result<Type> read_type(bool* is_complex = nullptr);
  Result<AttrValue> read_value();
  // An integer in [lo, hi] without symbols; it may be negative.
  Result<int64_t> read_integer(int64_t lo, int64_t hi);
  // Levels of subgraphs below the graph being read, from the @graph literals so far. Resets the
  // count.
  int take_depth() { return std::exchange(depth_, 0); }

 private:
  using Operation = Dim (*)(const Dim&, const Dim&);

  Result<Dim> read_sum(bool negative);
  Result<Dim> read_product(bool negative);
  Result<Dim> read_factor(bool negative);
  Result<Dim> read_function(const Token& name);
  Result<Dim> apply(uint32_t at, const Dim& a, const Dim& b, Operation operation);
  Result<Shape> read_shape(char close);
  Result<Device> read_device();
  Result<AttrValue> read_list();
  Result<AttrValue> read_word();
  Result<AttrValue> read_real(bool negative);
  Result<AttrValue> read_string();
  Result<AttrValue> read_graph();
  Result<int64_t> integer_of(const Token& digits, bool negative);

  Lexer& lex_;
  const GraphTable& graphs_;
  const SymEnv* env_ = nullptr;
  Nesting nesting_{text_limit::nesting, "levels of brackets"};
  int depth_ = 0;
};

}  // namespace cleave
