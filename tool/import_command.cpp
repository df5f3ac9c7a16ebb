// cleave import MODEL.pt2|MODEL.onnx -o DIR: a graph, its weights, and a page about both.
#include "base/write_file.h"
#include "import/exported/model.h"
#include "import/safetensors.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/onnx_file.h"

namespace cleave::tool {
namespace {

using Options = OnnxFiles;  // fixed and shapes are of ONNX models alone

std::string trained(const Placeholder& p) { return p.wants_grad ? " grad" : ""; }

// What stands in summary.txt.
std::string summary_of(const ImportedModel& m, const std::string& path) {
  const Graph& g = m.program.main;
  std::string text = fmt::format("{}: written by PyTorch {}\n", path, m.torch_version);
  text += fmt::format("arguments  {}\nresults    {}\n", m.arguments, m.results);
  for (const Placeholder& p : g.placeholders()) {
    text += fmt::format("{:<10} %{}: {}{}", name_of(p.role), g.name(p.value),
                        g.type(p.value).text(), trained(p));
    if (p.role == Role::symint)
      text += fmt::format(" range({},{})", p.sym.range.lo, p.sym.range.hi);
    text += "\n";
  }
  for (const auto& [name, placeholder] : m.ties)
    text += fmt::format("tied       {} is %{}\n", name, placeholder);
  for (size_t k = 0; k < g.returns().size(); ++k) {
    const Return& r = g.returns()[k];
    text += fmt::format("out.{:<6} {}", k, g.type(r.value).text());
    if (r.kind == ReturnKind::update) text += fmt::format(" -> %{}", g.name(r.target));
    if (r.kind == ReturnKind::grad) text += fmt::format(" -> grad %{}", g.name(r.target));
    text += "\n";
  }
  std::map<std::string, int64_t> calls;
  for (const NodeId n : g.order()) ++calls[g.node(n).op->name];
  text += fmt::format("{} calls:", g.node_count());
  for (const auto& [op, count] : calls) text += fmt::format(" {} {}", count, op);
  return text + "\n";
}

Status write_weights(const std::string& path, const ImportedModel& m) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, t] : m.weights)
    entries.push_back({name,
                       t.dtype(),
                       t.shape(),
                       {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())}});
  return write_safetensors(path, entries);
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
  Result<ImportedModel> m = import_exported(zip, ops, {}, &uncovered);
  if (!m.ok()) {
    if (o.json && !uncovered.empty())
      CLEAVE_CHECK(print_json({{"nodes", 0}, {"unsupported", calls_of(uncovered)}}));
    return std::move(m).failure();
  }
  size_t nodes = m->program.main.node_count();
  for (const GraphRef& g : m->program.subgraphs) nodes += g->node_count();
  const std::string summary = summary_of(*m, o.model);
  CLEAVE_CHECK(make_folder(o.out));
  CLEAVE_CHECK(write_file(o.out + "/model.clv", print(m->program)));
  CLEAVE_CHECK(write_weights(o.out + "/weights.safetensors", *m));
  CLEAVE_CHECK(write_file(o.out + "/summary.txt", summary));
  if (o.json)
    return print_json({{"nodes", nodes},
                       {"unsupported", Json::array()},
                       {"graph", o.out + "/model.clv"},
                       {"weights", o.out + "/weights.safetensors"},
                       {"summary", o.out + "/summary.txt"},
                       {"arguments", m->arguments},
                       {"results", m->results},
                       {"torch_version", m->torch_version}});
  fmt::print("{}", summary);
  return {};
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
