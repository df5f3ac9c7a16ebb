// Any bytes are an ONNX model or an error. A model that is accepted is a valid graph, and its
// weights have the types of its placeholders.
//   make fuzz-build
//   build/fuzz/bin/fuzz_onnx -max_len=4096 -max_total_time=120 CORPUS
#include "import/onnx/import_onnx.h"
#include "ir/text.h"
#include "op/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const cleave::Result<cleave::OpRegistry> ops = cleave::core_ops();
  const auto m = cleave::onnx::import_onnx({std::as_bytes(std::span(data, size))}, *ops);
  if (!m.ok()) {
    if (m.failure().kind == cleave::ErrorKind::bug) __builtin_trap();
    return 0;
  }
  const cleave::Graph& g = m->program.main;
  if (!cleave::verify(g).ok()) __builtin_trap();
  for (const auto& [name, t] : m->weights)
    if (g.type(g.find(name)).text() != t.type_text()) __builtin_trap();
  return 0;
}
