// Runs an elementwise rule to record where it reads its operands.
#pragma once
#include "ir/graph.h"
#include "loop/kernel_builder.h"

namespace cleave {

// Placeholder for an operand or result whose shape alone matters; for no value it has no buffer.
loop::Bound shape_bound(const Graph& graph, ValueId v);

class ReadRecorder final : public loop::KernelBuilder {
 public:
  ReadRecorder(const Graph& graph, NodeId n, loop::KernelSheet& sheet);
  loop::Expr load(int flat, const loop::Exprs& index) override;
  loop::Expr stream() override;

  struct Read {
    int flat;
    loop::Exprs index;
    loop::Expr value;  // the variable in place of the element
  };
  const std::vector<Read>& reads() const { return reads_; }

 private:
  std::vector<Read> reads_;
};

}  // namespace cleave
