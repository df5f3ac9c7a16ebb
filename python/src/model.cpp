// Models from files: .pt2 of torch.export, and .onnx.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "cleave/exported.h"
#include "cleave/onnx.h"

namespace cleave::python {
namespace {

nb::dict to_dict(const NamedTensors& tensors) {
  nb::dict out;
  for (const auto& [name, tensor] : tensors) out[name.c_str()] = to_python(HostTensor(tensor));
  return out;
}

template <class Model>
nb::dict weights_of(const Model& model) {
  return to_dict(model.weights);
}

template <class Model>
Model loaded(Model (*load)(const std::string&), const std::string& path) {
  const nb::gil_scoped_release unlocked;
  return load(path);
}

void save(const std::string& path, const nb::dict& tensors) {
  NamedTensors all;
  for (auto [name, tensor] : tensors)
    all[nb::cast<std::string>(name)] = tensor_of(tensor, Kept::by_caller).host();
  const nb::gil_scoped_release unlocked;
  save_tensors(path, all);
}

OnnxModel load_onnx_model(const std::string& path) { return load_onnx(path); }

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<ExportedModel>(m, "ExportedModel", "A program of torch.export, without PyTorch.")
      .def_ro("graph", &ExportedModel::graph)
      .def("weights", &weights_of<ExportedModel>, "Copies of the parameters, buffers, constants.")
      .def_ro("ties", &ExportedModel::ties)
      .def_ro("arguments", &ExportedModel::arguments)
      .def_ro("results", &ExportedModel::results);
  nb::class_<OnnxModel>(m, "OnnxModel", "A model of ONNX.")
      .def_ro("graph", &OnnxModel::graph)
      .def("weights", &weights_of<OnnxModel>, "Copies of the initializers.")
      .def_ro("inputs", &OnnxModel::inputs, "The names in the file, by those in the graph.")
      .def_ro("opset", &OnnxModel::opset)
      .def_ro("producer", &OnnxModel::producer);
  m.def(
      "load_tensors", [](const std::string& path) { return to_dict(load_tensors(path)); },
      nb::arg("path"), "The tensors of a .safetensors file, by name.");
  m.def("save_tensors", &save, nb::arg("path"), nb::arg("tensors"));
  m.def(
      "load_exported", [](const std::string& path) { return loaded(&load_exported, path); },
      nb::arg("path"));
  m.def(
      "load_onnx", [](const std::string& path) { return loaded(&load_onnx_model, path); },
      nb::arg("path"));
}

}  // namespace cleave::python
