// cleave import MODEL.pt2|MODEL.onnx -o DIR: a graph, its weights, and a page about both.
#include "import/exported/model.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/import_files.h"
#include "tool/onnx_file.h"

namespace cleave::tool {
namespace {

using Options = OnnxFiles;  // fixed and shapes are of ONNX models alone

ImportedFiles files_of(const ImportedModel& m, const std::string& path) {
  ImportedFiles out{m.program, m.weights,
                    fmt::format("{}: written by PyTorch {}\narguments  {}\nresults    {}\n", path,
                                m.torch_version, m.arguments, m.results)};
  for (const auto& [name, placeholder] : m.ties)
    out.ties += fmt::format("tied       {} is %{}\n", name, placeholder);
  for (const std::string& name : m.complex)
    out.notes[name] = "  complex: the last dim is (real part, imaginary part)";
  out.told = {
      {"arguments", m.arguments}, {"results", m.results}, {"torch_version", m.torch_version}};
  return out;
}

Json calls_of(const UncoveredCalls& uncovered) {
  Json list = Json::array();
  for (const auto& [op, calls] : uncovered) list.push_back({{"op", op}, {"calls", calls}});
  return list;
}

Status run(const Options& o) {
  if (o.out.empty() || o.out == "-") return user_error("-o: expected a folder");
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  if (is_onnx(o.model)) return import_onnx_files(o, ops);
  if (!o.fixed.empty() || !o.shapes.empty())
    return user_error("--fix, --shape: expected an ONNX model, whose name ends in .onnx");
  CLEAVE_TRY(const ZipArchive zip, ZipArchive::open(o.model));
  UncoveredCalls uncovered;
  const Result<ImportedModel> m = import_exported(zip, ops, {}, &uncovered);
  if (m.ok()) return write_import(files_of(*m, o.model), o.out, o.json);
  if (o.json && !uncovered.empty()) CLEAVE_CHECK(print_uncovered(calls_of(uncovered)));
  return m.failure();
}

}  // namespace

Command import_command() {
  return {"import", "read a model of PyTorch (.pt2) or ONNX into a graph and weights",
          "  cleave import model.pt2 -o model\n"
          "  cleave import model.onnx -o model\n"
          "  cleave run model/model.clv --in model/weights.safetensors --random\n"
          "  cleave run model.pt2 --in x.safetensors --out y.safetensors",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("MODEL", o->model,
                             "a file of torch.export.save (.pt2), or of ONNX (.onnx)");
            options.option("-o,--out", o->out,
                           "a folder: model.clv, weights.safetensors, summary.txt");
            options.option("--fix", o->fixed,
                           "inputs of an ONNX model that are known now, under their names "
                           "(.safetensors): shapes that depend on them are computed");
            options.option("--shape", o->shapes,
                           "of an ONNX model's input, by its name: x=1x3x224x224");
            options.flag("--json", o->json,
                         "print one JSON object: nodes, unsupported (op, calls), files");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
