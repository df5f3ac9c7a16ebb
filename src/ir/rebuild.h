// A graph made again, with other sizes or on another device: every type is inferred anew.
//
//   struct Halved : Rebuilding {
//     Dim size(const Dim& d) override { return d == Dim(64) ? Dim(32) : d; }
//   };
//   Halved halved;
//   CLEAVE_TRY(Graph smaller, rebuilt(g, halved));
//
// Placeholders, names, nodes, returns, sources and tags keep their order; nodes that share a
// subgraph share the new one. Errors: a rule refuses the sizes, which names the node and its line;
// a call has another number of results (user).
#pragma once
#include "ir/graph.h"

namespace cleave {

// What becomes of each part. As it stands, nothing changes.
class Rebuilding {
 public:
  virtual ~Rebuilding() = default;
  // Of a size in a type, and of a stride.
  virtual Dim size(const Dim& d) { return d; }
  // Of a size of placeholder `k` of g, which is the graph or one of its subgraphs.
  virtual Dim size_of(const Graph& /*g*/, size_t /*k*/, size_t /*dim*/, const Dim& d) {
    return size(d);
  }
  // Of the strides of a type with a shape that size() has made.
  virtual std::vector<Dim> strides(const std::vector<Dim>& old, const Shape& shape);
  // Of an integer in an attribute.
  virtual Dim number(const ArgDef& /*of*/, const Dim& d) { return d; }
  virtual Result<SymInfo> symint(const std::string& /*name*/, const SymInfo& sym) { return sym; }
  // Of the device of a placeholder that is no symint.
  virtual Device device(const Device& d) { return d; }
  // Of a call that is about to be made, with the operands and attributes that it will have.
  virtual void call(NodeSpec& /*spec*/) {}
  // Of a result, whose type was `old`; the value that takes its place.
  virtual Result<ValueId> result(Graph& /*to*/, ValueId made, const Type& /*old*/) { return made; }
  // Of a subgraph.
  virtual std::string name(const Graph& subgraph) { return subgraph.name(); }
  // Whether a subgraph stays the same object.
  virtual bool keeps(const Graph& /*subgraph*/) { return false; }
};

Result<Graph> rebuilt(const Graph& g, Rebuilding& how);

}  // namespace cleave
