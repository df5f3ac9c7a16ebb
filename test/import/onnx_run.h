// Runs an ONNX file of a test on the oracle.
#pragma once
#include <gtest/gtest.h>

#include "import/onnx/import_onnx.h"
#include "import/onnx/tensor_data.h"
#include "interp/interpret.h"
#include "op/registry.h"
#include "test/import/onnx_file.h"

namespace cleave {

inline Result<onnx::ImportedModel> imported(const std::string& bytes,
                                            const OnnxOptions& options = {},
                                            onnx::ImportReport* report = nullptr) {
  static const Result<OpRegistry> ops = core_ops();
  return onnx::import_onnx({std::as_bytes(std::span(bytes)), "model", ""}, *ops, options, report);
}

// The results for these inputs; the failure's text where there are none.
struct OnnxResults {
  std::vector<HostTensor> tensors;
  std::string failure;
};
inline OnnxResults results_of(const OnnxFile& file, const std::map<std::string, HostTensor>& inputs,
                              const OnnxOptions& options = {}) {
  const Result<onnx::ImportedModel> m = imported(file.bytes(), options);
  if (!m.ok()) return {{}, m.failure().message};
  std::map<std::string, Array> given;
  for (const auto& [name, t] : m->weights) given[name] = onnx::as_array(t);
  for (const auto& [name, t] : inputs) given[name] = onnx::as_array(t);
  const Result<Arrays> out = interpret(m->program.main, given);
  if (!out.ok()) return {{}, out.failure().message};
  OnnxResults r;
  for (const Array& a : *out) r.tensors.push_back(onnx::as_host_tensor(a));
  return r;
}

// The first result's elements.
inline std::vector<double> numbers_of(const OnnxFile& file,
                                      const std::map<std::string, HostTensor>& inputs = {}) {
  const OnnxResults r = results_of(file, inputs);
  EXPECT_EQ(r.failure, "");
  std::vector<double> out;
  if (!r.tensors.empty())
    for (int64_t k = 0; k < r.tensors[0].numel(); ++k) out.push_back(r.tensors[0].number(k));
  return out;
}

inline HostTensor floats(const std::vector<float>& v, std::vector<int64_t> shape = {}) {
  return shape.empty() ? HostTensor::from<float>(v) : HostTensor::from<float>(v, std::move(shape));
}
inline HostTensor ints(const std::vector<int64_t>& v) { return HostTensor::from<int64_t>(v); }

using Numbers = std::vector<double>;

}  // namespace cleave
