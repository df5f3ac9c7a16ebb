// The signature of an operator, in ATen's own notation:
//
//   (Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor
//   (Tensor[] tensors, int dim=0) -> Tensor
//   (Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)
//       -> (Tensor, Tensor, Tensor)
//
// Tensor, Tensor?, Tensor[] and Tensor?[] arguments are operands, all others attributes.
// `Tensor|Scalar` is an operand for which a number may be given; the number is then an attribute of
// that name. At most one operand is a list. Types: int SymInt float Scalar bool str Device (text)
// ScalarType MemoryFormat Graph, each with [] (or [N]: one number may be given for a list) and ?.
// Results: Tensor, a tuple, or Tensor[] (as many as infer returns).
#pragma once
#include <string>
#include <vector>

#include "ir/attr.h"

namespace cleave {

enum class ArgKind : uint8_t {
  tensor,
  integer,
  floating,
  number,
  boolean,
  string,
  dtype,
  memory_format,
  graph
};

struct ArgDef {
  std::string name;
  ArgKind kind = ArgKind::tensor;
  bool optional = false;        // T?
  bool list = false;            // T[]
  bool optional_item = false;   // T?[]
  bool number_allowed = false;  // Tensor|Scalar
  bool symbolic = false;        // SymInt: may hold symbols
  bool has_default = false;
  AttrValue default_value;
  bool is_operand() const { return kind == ArgKind::tensor; }
};

struct Schema {
  std::vector<ArgDef> args;               // in the order of the signature
  std::vector<uint16_t> operands;         // indices into args
  std::vector<uint16_t> attrs;            // indices into args
  int list_operand = -1;                  // position among operands, -1 if none is a list
  int results = 1;                        // -1: as many as infer returns
  std::vector<std::string> result_names;  // empty texts where the signature has none

  // Index into args, or -1.
  int find(std::string_view name) const;
};

// Parses the notation above; a failure (bug) names the position.
Result<Schema> parse_schema(const std::string& text);

}  // namespace cleave
