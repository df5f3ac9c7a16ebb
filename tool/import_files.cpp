#include "tool/import_files.h"

#include "base/write_file.h"
#include "import/safetensors.h"
#include "ir/text.h"
#include "tool/graph_file.h"
#include "tool/standard_streams.h"

namespace cleave::tool {
namespace {

std::string line_of(const Graph& g, const Placeholder& p, const std::string& note) {
  std::string line = fmt::format("{:<10} %{}: {}{}", name_of(p.role), g.name(p.value),
                                 g.type(p.value).text(), p.wants_grad ? " grad" : "");
  if (p.role == Role::symint) line += fmt::format(" range({},{})", p.sym.range.lo, p.sym.range.hi);
  return line + note + "\n";
}

std::string line_of(const Graph& g, size_t result, const std::string& note) {
  const Return& r = g.returns()[result];
  std::string line = fmt::format("out.{:<6} {}", result, g.type(r.value).text());
  if (r.kind == ReturnKind::update) line += fmt::format(" -> %{}", g.name(r.target));
  if (r.kind == ReturnKind::grad) line += fmt::format(" -> grad %{}", g.name(r.target));
  return line + note + "\n";
}

std::string summary_of(const ImportedFiles& files) {
  const Graph& g = files.program.main;
  std::string text = files.head;
  const auto note = [&](const std::string& of) {
    const auto at = files.notes.find(of);
    return at == files.notes.end() ? std::string() : at->second;
  };
  for (const Placeholder& p : g.placeholders()) text += line_of(g, p, note(g.name(p.value)));
  text += files.ties;
  for (size_t k = 0; k < g.returns().size(); ++k)
    text += line_of(g, k, note(fmt::format("out.{}", k)));
  std::map<std::string, int64_t> calls;
  for (const NodeId n : g.order()) ++calls[g.node(n).op->name];
  text += fmt::format("{} calls:", g.node_count());
  for (const auto& [op, count] : calls) text += fmt::format(" {} {}", count, op);
  return text + "\n";
}

Status write_weights(const std::string& path, const std::map<std::string, HostTensor>& weights) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, t] : weights)
    entries.push_back({name,
                       t.dtype(),
                       t.shape(),
                       {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())}});
  return write_safetensors(path, entries);
}

size_t node_count(const Program& program) {
  size_t nodes = program.main.node_count();
  for (const GraphRef& g : program.subgraphs) nodes += g->node_count();
  return nodes;
}

}  // namespace

Status write_import(const ImportedFiles& files, const std::string& folder, bool json) {
  const std::string summary = summary_of(files);
  CLEAVE_CHECK(make_folder(folder));
  CLEAVE_CHECK(write_file(folder + "/model.clv", print(files.program)));
  CLEAVE_CHECK(write_weights(folder + "/weights.safetensors", files.weights));
  CLEAVE_CHECK(write_file(folder + "/summary.txt", summary));
  if (!json) {
    put(summary);
    return check_stdout();
  }
  Json out = {{"nodes", node_count(files.program)},
              {"unsupported", Json::array()},
              {"graph", folder + "/model.clv"},
              {"weights", folder + "/weights.safetensors"},
              {"summary", folder + "/summary.txt"}};
  for (const auto& [name, text] : files.told) out[name] = text;
  return print_json(out);
}

Status print_uncovered(const Json& unsupported) {
  return print_json({{"nodes", 0}, {"unsupported", unsupported}});
}

}  // namespace cleave::tool
