// A graph as an ONNX model, for inference.
//
//   CLEAVE_TRY(ExportedModel m, export_onnx(graph, ops, {.weights = &weights}));
//   CLEAVE_CHECK(write_model("model.onnx", m.model));
//
//   placeholder      an input of its name, or an initialiser where `weights` has a tensor for it;
//                    rng_state that nothing reads: nothing
//   symint           a dim_param; where it is a number, it is told from the inputs' shapes
//   call             nodes, by the rules of the operators (call.h)
//   cond, while_loop If, Loop
//   return           outputs, in order, under the names of the values
//
// Only operators of set 18 are used, whose meaning is the same in all sets up to the last one.
// Numbers of bf16 and f16 are computed in f32 and rounded by each call, as everywhere in cleave.
#pragma once
#include <deque>
#include <map>
#include <string>

#include "base/result.h"
#include "cleave/host_tensor.h"
#include "export/onnx/exporter.h"
#include "ir/graph.h"
#include "onnx/model.h"

namespace cleave::to_onnx {

constexpr int64_t first_opset = 18, last_opset = 23, usual_opset = 21;

struct ExportOptions {
  const std::map<std::string, HostTensor>* weights = nullptr;  // by placeholder
  int64_t opset = usual_opset;
};

// Refers to the memory of the weights that were given.
struct ExportedModel {
  onnx::ModelProto model;
  std::deque<HostTensor> memory;  // constants
};

// Errors (user): an operator set beyond 18 to 23; a weight that no placeholder takes. Errors
// (unsupported): calls, updates, gradients and types that can't be written, all in one message, and
// in `refusals`.
Result<ExportedModel> export_onnx(const Graph& g, const OpRegistry& ops,
                                  const ExportOptions& options = {}, Refusals* refusals = nullptr);

// Of a value: dims that aren't numbers are named by their text.
onnx::ValueInfo value_info(const std::string& name, const Type& t);

}  // namespace cleave::to_onnx
