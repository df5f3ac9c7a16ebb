// Operators that a text may call although they have no entry: each call is read as calls of those
// that have one.
#pragma once
#include "ir/builder.h"
#include "ir/text.h"

namespace cleave {

// What a text says of a call of complex tensors. A graph has their parts: a real tensor whose last
// dim is 2, (real part, imaginary part).
struct ComplexCall {
  std::vector<bool> inputs;        // of each input: it is complex
  std::vector<bool> results;       // of each result
  std::vector<Type> result_types;  // of a complex one that of its parts
};

class Composites {
 public:
  virtual ~Composites() = default;
  // The operator of this name that has so many results; if none has, another of this name; null if
  // there is none. It has a schema and no rules.
  virtual const OpDef* find(std::string_view name, size_t results) const = 0;
  // Adds the calls that stand for `call`, whose attributes have the kinds of the schema. One value
  // for each result: perhaps an operand, or none where a result is not covered.
  virtual Result<Values> expand(Builder& b, const NodeSpec& call) const = 0;
  // Complex tensors are read as their parts; if not, they are values of dtype c64.
  virtual bool takes_complex_apart() const = 0;
  // The same of a call whose operator has an entry, or is a composite.
  virtual Result<Values> expand_complex(Builder& b, const NodeSpec& call,
                                        const ComplexCall& complex) const = 0;
};

// As parse (ir/text.h). A name that both have is the registry's.
Result<Program> parse(std::string_view text, const std::string& file, const OpRegistry& ops,
                      const Composites& composites);

}  // namespace cleave
