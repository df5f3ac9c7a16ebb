// Writes the calls of a graph as nodes of ONNX, by the rules of the operators (call.h).
//
// A call whose operator has no rule, or whose rule doesn't take this form of it, is decomposed into
// simpler calls. What can't be written is counted, with the reason, and writing goes on, so that
// all of it can be named at once.
#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "export/onnx/sizes.h"

namespace cleave::to_onnx {

// Why calls can't be written, with how many: "rand: draws random numbers" -> 2.
using Refusals = std::map<std::string, int64_t>;

class Exporter {
 public:
  Exporter(ModelBuilder& m, const OpRegistry& ops) : model_(m), sizes_(m), ops_(ops) {}

  ModelBuilder& model() { return model_; }
  Sizes& sizes() { return sizes_; }
  const Refusals& refusals() const { return refusals_; }

  // Writes a graph whose placeholders have these values, one each but for symints, into the
  // innermost scope; what it returns. Errors (user): too many graphs; (bug) a rule is broken.
  Result<Vs> write(const Graph& g, const Vs& operands);
  void refuse(const std::string& why) { ++refusals_[why]; }

 private:
  using Values = std::unordered_map<uint32_t, V>;
  Result<bool> write_call(const Graph& g, NodeId n, Values& values);
  // Puts simpler calls in the place of n; false where the operator has none for this call.
  Result<bool> decompose(Graph& g, NodeId n);

  ModelBuilder& model_;
  Sizes sizes_;
  const OpRegistry& ops_;
  Refusals refusals_;
  std::string why_;     // the last call's rule didn't take it
  int64_t graphs_ = 0;  // written so far
};

}  // namespace cleave::to_onnx
