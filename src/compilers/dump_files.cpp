#include "compilers/dump_files.h"

#include <algorithm>
#include <list>

#include "base/json.h"
#include "import/safetensors.h"
#include "train/match_tensors.h"

namespace cleave {
namespace {

Json numbers(const std::vector<Dim>& dims) {
  Json out = Json::array();
  for (const Dim& d : dims) out.push_back(d.is_const() ? Json(d.value()) : Json(d.text()));
  return out;
}

std::vector<Dim> row_major(const Shape& shape) {
  std::vector<Dim> out(shape.size());
  Dim inner(1);
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = inner;
    inner = inner * shape[d];
  }
  return out;
}

Json type_of(const Graph& g, const Placeholder& p) {
  if (p.role == Role::symint) return {{"kind", "int"}};
  const Type& type = g.type(p.value);
  return {
      {"kind", "tensor"},
      {"shape", numbers(type.shape)},
      {"stride", numbers(type.strides ? *type.strides : row_major(type.shape))},
      {"dtype", name_of(type.dtype)},
      {"device", type.device.kind == DeviceKind::cpu ? std::string("cpu")
                                                     : fmt::format("cuda:{}", type.device.index)}};
}

}  // namespace

Status write_inputs(const std::string& path, const Graph& g, const HostTensors& inputs) {
  std::vector<TensorEntry> entries;
  std::list<HostTensor> copies;  // what an entry refers to
  for (size_t k = 0; k < inputs.size(); ++k)
    entries.push_back(entry_of(
        g.name(g.placeholders()[k].value),
        inputs[k].is_row_major() ? inputs[k] : copies.emplace_back(inputs[k].contiguous())));
  return write_safetensors(path, entries, {});
}

std::string input_types(const Graph& g) {
  const bool is_joint =
      std::ranges::any_of(g.returns(), [](const Return& r) { return r.kind == ReturnKind::grad; });
  Json primals = Json::array(), tangents = Json::array();
  for (const Placeholder& p : g.placeholders())
    (is_joint && p.role == Role::tangent ? tangents : primals).push_back(type_of(g, p));
  if (!is_joint) return primals.text() + "\n";
  Json both = Json::array();
  both.push_back(std::move(primals));
  both.push_back(std::move(tangents));
  return both.text() + "\n";
}

}  // namespace cleave
