// Runs an elementwise rule for where it reads its operands.
#pragma once
#include "ir/graph.h"
#include "loop/kernel_builder.h"

namespace cleave {

// Stands for an operand or result that a rule only asks for its shape; none has no buffer.
loop::Bound shape_bound(const Graph& graph, ValueId v);

class ReadRecorder final : public loop::KernelBuilder {
 public:
  ReadRecorder(const Graph& graph, NodeId n, loop::KernelSheet& sheet);
  loop::Expr load(int flat, const loop::Exprs& index) override;
  loop::Expr stream() override;

  struct Read {
    int flat;
    loop::Exprs index;
    loop::Expr value;  // what stands for the element
  };
  const std::vector<Read>& reads() const { return reads_; }

 private:
  std::vector<Read> reads_;
};

}  // namespace cleave
