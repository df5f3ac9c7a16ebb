// The state of lowering one graph: where each value lies, and the steps so far.
#pragma once
#include <unordered_map>

#include "lower/program.h"

namespace cleave {

struct Location {
  size_t storage = 0;
  loop::Layout layout;
};

class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph) {}
  Result<LoweredProgram> run();

 private:
  // ---- storages
  size_t new_storage(const std::string& name, DType dtype, int64_t elements);
  Location new_dense(const std::string& name, const Type& type);
  loop::Bound bind(loop::Kernel& kernel, KernelCall& call, const Location& at, DType dtype,
                   bool written);

  // ---- nodes
  Status node(NodeId n);
  Status view(NodeId n, const OpView& op, const loop::ViewRule& rule);
  void elementwise(NodeId n, const OpView& op, const loop::ElementwiseRule& rule);
  void reduction(NodeId n, const OpView& op, const loop::ReductionRule& rule);
  void kernel(NodeId n, const OpView& op, const loop::KernelRule& rule);
  void product(NodeId n, const OpView& op, const loop::ProductRule& rule);
  Status foreign(NodeId n, const OpView& op, const loop::ForeignRule& rule);

  // ---- pieces
  struct Call {  // a kernel under construction
    loop::Kernel kernel;
    KernelCall call;
    std::vector<loop::Bound> operands, results;
  };
  Call begin_call(NodeId n, const OpView& op);
  void finish_call(Call call, const std::string& name, const OpView* op);
  void copy(const Location& from, const Location& to, DType dtype, const std::string& name);
  Location dense_copy(const Location& from, DType dtype, const std::string& name);
  Location dense(ValueId v);  // the value itself where it is row-major from its storage's start
  void returns();
  bool is_wanted(ValueId v) const { return graph_.use_count(v) > 0 || returned_.contains(v.v); }

  const Graph& graph_;
  LoweredProgram out_;
  std::unordered_map<uint32_t, Location> at_;
  std::unordered_map<uint32_t, int> returned_;
  std::unordered_map<std::string, size_t> kernels_;  // by text without names
};

}  // namespace cleave
