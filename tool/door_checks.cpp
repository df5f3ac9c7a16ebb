#include "tool/door_checks.h"

#include <charconv>
#include <cstring>

#include "import/exported/model.h"
#include "import/onnx/import_onnx.h"
#include "import/safetensors.h"
#include "ir/text.h"
#include "op/registry.h"
#include "tool/door_samples.h"
#include "tool/python_packages.h"

namespace cleave::tool {
namespace {

constexpr int least_torch[] = {2, 13};

// {2, 3} in f32.
Status check_weight(std::span<const std::byte> bytes) {
  const float want[] = {2, 3};
  if (bytes.size() == sizeof want && std::memcmp(bytes.data(), want, sizeof want) == 0) return {};
  return bug("the weight isn't what the file says");
}

Status check_model(const Program& program, const std::map<std::string, HostTensor>& weights) {
  CLEAVE_CHECK(verify(program));
  if (program.main.node_count() != 1 || !weights.contains("w"))
    return bug("read as:\n{}", print(program));
  const HostTensor& w = weights.at("w");
  return check_weight({static_cast<const std::byte*>(w.data()), static_cast<size_t>(w.bytes())});
}

Status read_safetensors() {
  CLEAVE_TRY(const SafetensorsFile file, SafetensorsFile::from_bytes(sample_safetensors()));
  const TensorEntry* w = file.find("w");
  return w ? check_weight(w->data) : bug("the tensor is gone");
}

Status read_pt2() {
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  CLEAVE_TRY(const ZipArchive zip, ZipArchive::from_bytes(sample_pt2(), "model.pt2"));
  CLEAVE_TRY(const ImportedModel model, import_exported(zip, ops));
  return check_model(model.program, model.weights);
}

Status read_onnx() {
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  const std::vector<std::byte> bytes = sample_onnx();
  CLEAVE_TRY(const onnx::ImportedModel model, onnx::import_onnx({bytes, "model.onnx", ""}, ops));
  return check_model(model.program, model.weights);
}

DoctorCheck file_door(std::string name, const Status& read, std::string reads, std::string note) {
  if (read.ok()) return {std::move(name), true, "reads " + std::move(reads), std::move(note)};
  return {std::move(name), false, read.failure().message,
          "a small model isn't read here: install cleave anew, or report this with all that is "
          "shown"};
}

DoctorCheck python_door(const Result<PythonPackages>& python) {
  constexpr const char* cure =
      "needed from Python alone: `pip install .` in cleave's folder, in an environment of "
      "`python3 -m venv` (python/README.md)";
  if (!python.ok())
    return {"python package", false, python.failure().message,
            std::string("apt-get install python3-venv; ") + cure};
  const std::string of = fmt::format("Python {}", python->python);
  if (!python->broken.empty())
    return {"python package", false, fmt::format("{}: {}", of, python->broken),
            "the package can't be loaded: pip install --force-reinstall . in cleave's folder"};
  const auto version = python->versions.find("cleave");
  if (version == python->versions.end())
    return {"python package", false, fmt::format("{} has no package cleave", of), cure};
  return {"python package", true, fmt::format("cleave {}, {}", version->second, of)};
}

// Whether "2.13.0+cpu" is least_torch or later.
bool is_late_enough(std::string_view version) {
  for (const int least : least_torch) {
    int number = 0;
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc() || number != least) return error == std::errc() && number > least;
    version.remove_prefix(static_cast<size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return true;
}

DoctorCheck compile_door(const Result<PythonPackages>& python, bool has_package) {
  std::string torch;
  if (python.ok() && python->versions.contains("torch")) torch = python->versions.at("torch");
  const bool is_late = is_late_enough(torch);
  DoctorCheck out{"torch.compile", is_late && has_package,
                  torch.empty() ? "PyTorch isn't installed for python3" : "PyTorch " + torch};
  if (!has_package) out.found += "; python3 has no package cleave that works";
  if (out.ok) {
    out.found += ": torch.compile(model, backend=\"cleave\")";
    return out;
  }
  std::vector<std::string> lacks;
  if (!is_late)
    lacks.push_back(fmt::format("pip install 'torch>={}.{}'", least_torch[0], least_torch[1]));
  if (!has_package) lacks.emplace_back("cleave's Python package");
  out.cure = fmt::format("needed by torch.compile and cleave.export alone: {}",
                         fmt::join(lacks, ", and "));
  return out;
}

}  // namespace

std::vector<DoctorCheck> door_checks() {
  const Result<PythonPackages> python = python_packages();
  DoctorCheck package = python_door(python);
  DoctorCheck compile = compile_door(python, package.ok);
  const bool has_torch = python.ok() && python->versions.contains("torch");
  std::vector<DoctorCheck> out;
  out.push_back(file_door("safetensors", read_safetensors(), "tensors of .safetensors", ""));
  out.push_back(file_door("pt2", read_pt2(), "models of torch.export.save (PyTorch 2.6 to 2.13)",
                          has_torch ? "" : "writing a .pt2 takes PyTorch: pip install torch"));
  out.push_back(file_door(
      "onnx", read_onnx(),
      fmt::format("ONNX models, operator sets {} to {}", onnx::first_opset, onnx::last_opset), ""));
  out.push_back(std::move(package));
  out.push_back(std::move(compile));
  return out;
}

}  // namespace cleave::tool
