// Runs cases of ONNX's node suite: folders with model.onnx and test_data_set_K of inputs and
// expected results. Prints a line of JSON for each folder named on stdin.
//
//   {"case": "test_abs", "outcome": "passed", "fixed": 0, "why": ""}
//   outcome   passed, shapes (random numbers: only types are compared), refused, wrong
//
// Inputs on which sizes depend are fixed at import; `fixed` says how many.
#include <dirent.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/json.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/read_model.h"
#include "import/onnx/tensor_data.h"
#include "interp/array_memory.h"
#include "onnx/wire.h"
#include "op/registry.h"
#include "runtime/thread_pool.h"

namespace cleave {
namespace {

using onnx::ImportedModel;

struct Outcome {
  std::string outcome, why;
  int64_t fixed = 0;
};

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// What a file of test data holds: a tensor, several (a sequence), or none (an empty optional).
struct Datum {
  std::vector<HostTensor> tensors;
  bool sequence = false;
};

Result<HostTensor> tensor_of(std::span<const std::byte> bytes) {
  CLEAVE_TRY(const onnx::TensorProto t, onnx::read_tensor(bytes));
  return onnx::read_elements(t, {});
}

// SequenceProto and OptionalProto hold tensors in their fields 3, an OptionalProto a sequence in 5.
Status append_tensors(std::span<const std::byte> bytes, std::vector<HostTensor>& into) {
  onnx::WireReader reader({bytes, 0, 0});
  while (!reader.done()) {
    CLEAVE_TRY(const onnx::Field f, reader.next());
    if (f.number == 3) {
      CLEAVE_TRY(HostTensor t, tensor_of(f.bytes));
      into.push_back(std::move(t));
    } else if (f.number == 5 && f.type == onnx::WireType::bytes) {
      CLEAVE_CHECK(append_tensors(f.bytes, into));
    }
  }
  return {};
}

Result<Datum> read_datum(const std::string& path, const onnx::TypeProto& type) {
  using Kind = onnx::TypeProto::Kind;
  const std::vector<std::byte> bytes = bytes_of(path);
  Datum d;
  if (type.kind == Kind::tensor) {
    CLEAVE_TRY(HostTensor t, tensor_of(bytes));
    d.tensors.push_back(std::move(t));
    return d;
  }
  const onnx::TypeProto* inner = type.kind == Kind::optional ? type.inner.get() : &type;
  d.sequence = inner && inner->kind == Kind::sequence;
  CLEAVE_CHECK(append_tensors(bytes, d.tensors));
  return d;
}

bool exists(const std::string& path) { return std::ifstream(path).good(); }

std::string difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return fmt::format("is {}, expected {}", got.type_text(), want.type_text());
  // ONNX's own tolerances; the absolute one grows with the largest element.
  const bool half = got.dtype() == DType::f16 || got.dtype() == DType::bf16;
  double largest = 1;
  for (int64_t k = 0; k < want.numel(); ++k)
    if (std::isfinite(want.number(k))) largest = std::max(largest, std::abs(want.number(k)));
  const double relative = half ? 1e-2 : 1e-3, absolute = (half ? 1e-3 : 1e-7) * largest;
  for (int64_t k = 0; k < got.numel(); ++k) {
    const double a = got.number(k), b = want.number(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (is_floating(got.dtype()) && std::abs(a - b) <= absolute + relative * std::abs(b)) continue;
    return fmt::format("element {} is {}, expected {}", k, a, b);
  }
  return "";
}

Result<std::vector<HostTensor>> run(const ImportedModel& m, const OpRegistry& ops,
                                    const std::map<std::string, HostTensor>& inputs) {
  const Graph& g = m.program.main;
  StageOptions options;
  options.grad = false;
  CLEAVE_TRY(options.executor, runtime::start_threads(1));
  CLEAVE_TRY(auto program, CompiledProgram::compile(g, ops, options));
  CLEAVE_TRY(auto instance, Instance::make(program, options.executor));
  std::vector<HostTensor> memory;
  memory.reserve(g.placeholders().size());
  for (size_t i = 0; i < g.placeholders().size(); ++i) {
    const ValueId v = g.placeholders()[i].value;
    const std::string& name = g.name(v);
    if (const auto w = m.weights.find(name); w != m.weights.end())
      memory.push_back(w->second);
    else if (const auto in = inputs.find(name); in != inputs.end())
      memory.push_back(in->second);
    else if (g.placeholders()[i].role == Role::rng_state)
      memory.push_back(HostTensor::from<int64_t>({1, 0}));
    else
      return user_error("no input for %{}", name);
    if (memory.back().type_text() != g.type(v).text())
      return user_error("%{} is {}, {} is given", name, g.type(v).text(),
                        memory.back().type_text());
    CLEAVE_CHECK(
        instance->bind(i, {memory.back().data(), memory.back().bytes(), memory.back().dtype()}));
  }
  CLEAVE_CHECK(instance->run());
  std::vector<HostTensor> out;
  for (size_t k = 0; k < g.returns().size(); ++k) {
    if (g.returns()[k].kind != ReturnKind::result) continue;
    const Type& t = g.type(g.returns()[k].value);
    out.push_back(onnx::as_host_tensor(from_memory(t, instance->result(k))));
  }
  return out;
}

bool is_random(const Graph& g) {
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::rng_state) return true;
  return false;
}

// Imports, fixing the inputs that have to be known, one round after the other.
Result<ImportedModel> import_with(const std::string& path, const OpRegistry& ops,
                                  const onnx::ModelProto& model, const std::vector<Datum>& data,
                                  OnnxOptions& options, int64_t& fixed) {
  const auto& inputs = model.graph->inputs;
  for (size_t k = 0; k < inputs.size() && k < data.size(); ++k) {
    const Datum& d = data[k];
    if (d.sequence || inputs[k].type.kind == onnx::TypeProto::Kind::optional)
      options.lengths[inputs[k].name] = static_cast<int64_t>(d.tensors.size());
    for (size_t j = 0; j < d.tensors.size(); ++j)
      options.shapes[d.sequence ? fmt::format("{}.{}", inputs[k].name, j) : inputs[k].name] =
          d.tensors[j].shape();
  }
  for (;;) {
    onnx::ImportReport report;
    Result<ImportedModel> m = onnx::import_onnx(path, ops, options, &report);
    if (m.ok()) return m;
    const size_t before = options.fixed.size();
    for (size_t k = 0; k < inputs.size() && k < data.size(); ++k)
      for (size_t j = 0; j < data[k].tensors.size(); ++j) {
        const std::string name =
            data[k].sequence ? fmt::format("{}.{}", inputs[k].name, j) : inputs[k].name;
        if (report.wanted.contains(name)) options.fixed.emplace(name, data[k].tensors[j]);
      }
    fixed = static_cast<int64_t>(options.fixed.size());
    if (options.fixed.size() == before) return m;
  }
}

Result<Outcome> run_case(const std::string& folder, const OpRegistry& ops) {
  const std::string path = folder + "/model.onnx";
  const std::vector<std::byte> bytes = bytes_of(path);
  CLEAVE_TRY(const onnx::ModelProto model, onnx::read_model(bytes));
  Outcome out{"passed", "", 0};
  for (int set = 0; exists(fmt::format("{}/test_data_set_{}/output_0.pb", folder, set)); ++set) {
    const std::string data = fmt::format("{}/test_data_set_{}/", folder, set);
    std::vector<Datum> inputs, wanted;
    for (size_t k = 0; k < model.graph->inputs.size(); ++k) {
      const std::string file = fmt::format("{}input_{}.pb", data, k);
      if (!exists(file)) break;
      Result<Datum> d = read_datum(file, model.graph->inputs[k].type);
      if (!d.ok()) return Outcome{"refused", "test data: " + d.failure().message, 0};
      inputs.push_back(*std::move(d));
    }
    for (size_t k = 0; k < model.graph->outputs.size(); ++k) {
      Result<Datum> d =
          read_datum(fmt::format("{}output_{}.pb", data, k), model.graph->outputs[k].type);
      if (!d.ok()) return Outcome{"refused", "test data: " + d.failure().message, 0};
      wanted.push_back(*std::move(d));
    }
    OnnxOptions options;
    Result<ImportedModel> m = import_with(path, ops, model, inputs, options, out.fixed);
    if (!m.ok()) {
      if (m.failure().kind == ErrorKind::unsupported)
        return Outcome{"refused", m.failure().message, out.fixed};
      return Outcome{"wrong", m.failure().message, out.fixed};
    }
    std::map<std::string, HostTensor> given;
    for (const auto& [placeholder, name] : m->inputs)
      for (size_t k = 0; k < inputs.size(); ++k)
        for (size_t j = 0; j < inputs[k].tensors.size(); ++j) {
          const std::string& own = model.graph->inputs[k].name;
          if (name == (inputs[k].sequence ? fmt::format("{}.{}", own, j) : own))
            given.emplace(placeholder, inputs[k].tensors[j]);
        }
    Result<std::vector<HostTensor>> got = run(*m, ops, given);
    if (!got.ok())
      return Outcome{got.failure().kind == ErrorKind::unsupported ? "refused" : "wrong",
                     "run: " + got.failure().message, out.fixed};
    std::vector<HostTensor> flat;
    for (const Datum& d : wanted) flat.insert(flat.end(), d.tensors.begin(), d.tensors.end());
    if (got->size() != flat.size())
      return Outcome{"wrong", fmt::format("{} results, expected {}", got->size(), flat.size()),
                     out.fixed};
    const bool random = is_random(m->program.main);
    for (size_t k = 0; k < flat.size(); ++k) {
      const std::string why = difference((*got)[k], flat[k]);
      if (why.empty()) continue;
      if (random && !why.starts_with("is ")) {
        out.outcome = "shapes";
        continue;
      }
      return Outcome{"wrong", fmt::format("result {} {}", k, why), out.fixed};
    }
  }
  return out;
}

int run_cases() {
  const Result<OpRegistry> ops = core_ops();
  if (!ops.ok()) return 1;
  for (std::string folder; std::getline(std::cin, folder);) {
    Result<Outcome> r = run_case(folder, *ops);
    const Outcome o = r.ok() ? *r : Outcome{"wrong", r.failure().message, 0};
    const Json line = {{"case", folder.substr(folder.rfind('/') + 1)},
                       {"outcome", o.outcome},
                       {"fixed", o.fixed},
                       {"why", o.why}};
    fmt::print("{}\n", line.text());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace cleave

int main() { return cleave::run_cases(); }
