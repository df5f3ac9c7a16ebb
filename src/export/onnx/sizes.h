// Sizes as values of the ONNX graph: constants, or Shape and Gather with arithmetic in i64.
//
//   f32[s0,4]: s0     Gather(Shape(x), 0)
//   s0*4 - 1          Sub(Mul(s0, 4), 1)
#pragma once
#include <map>
#include <string>

#include "base/result.h"
#include "export/onnx/model_builder.h"
#include "ir/dim_terms.h"
#include "ir/graph.h"

namespace cleave::to_onnx {

class Sizes {
 public:
  explicit Sizes(ModelBuilder& m) : m_(m) {}

  // Writes how each symint of the graph is told from the shapes of its placeholders, `values` by
  // their order. Error (unsupported): a symint that occurs in none, or only within an expression.
  Status bind(const Graph& g, const Vs& values);

  V symbol(const std::string& name) const { return symbols_.at(name); }
  V scalar(const Dim& d);     // i64[]
  V list(const Shape& dims);  // i64[n]

 private:
  bool bind_one(const Dim& size, const V& value);
  V call(const DimAtom& a);
  V sum(const Dim& d);
  V item(const Dim& d);
  V binary(const char* op, const V& a, const V& b) { return m_.node(op, {a, b}, DType::i64); }

  ModelBuilder& m_;
  SymEnv env_;
  std::map<std::string, V> symbols_;
};

}  // namespace cleave::to_onnx
