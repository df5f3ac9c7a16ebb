// cleave show FILE: what is in a file of tensors, or in a graph.
#include <cmath>
#include <cstring>
#include <limits>

#include "cleave/host_tensor.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string file;
  bool stats = false, json = false;
};

// Names and metadata of a file may hold anything, also what a terminal obeys.
std::string printable(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_c1 =
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c < 0x20 || c == 0x7f || is_c1)
      out += fmt::format("\\x{:02x}", is_c1 ? static_cast<unsigned char>(text[++i]) : c);
    else
      out += text[i];
  }
  return out;
}

std::string type_text(const TensorEntry& e) {
  return Type(e.dtype, Shape(e.shape.begin(), e.shape.end())).text();
}

// Of the elements that are finite numbers; NaN if there are none.
struct Stats {
  double min = std::numeric_limits<double>::infinity(), max = -min, sum = 0;
  int64_t finite = 0, nan = 0, inf = 0;

  void add(double x) {
    if (std::isnan(x)) {
      ++nan;
    } else if (std::isinf(x)) {
      ++inf;
    } else {
      ++finite;
      min = std::min(min, x);
      max = std::max(max, x);
      sum += x;
    }
  }
  double of_finite(double x) const { return finite > 0 ? x : std::nan(""); }
  double mean() const { return of_finite(sum / static_cast<double>(finite)); }
};

// Data may lie at any alignment: it is copied a part at a time.
Stats stats_of(const TensorEntry& e) {
  constexpr size_t part = 1 << 12;
  const auto size = static_cast<size_t>(size_of(e.dtype));
  Stats stats;
  for (size_t at = 0; at < e.data.size(); at += part * size) {
    const size_t bytes = std::min(part * size, e.data.size() - at);
    HostTensor elements(e.dtype, {static_cast<int64_t>(bytes / size)});
    std::memcpy(elements.data(), e.data.data() + at, bytes);
    for (int64_t k = 0; k < elements.numel(); ++k) stats.add(elements.number(k));
  }
  return stats;
}

bool has_stats(const TensorEntry& e) { return e.dtype != DType::c64; }

Json as_json(const TensorEntry& e, bool with_stats) {
  Json shape = Json::array();
  for (const int64_t d : e.shape) shape.push_back(d);
  Json out = {{"name", e.name},
              {"dtype", std::string(name_of(e.dtype))},
              {"shape", shape},
              {"bytes", e.data.size()}};
  if (!with_stats || !has_stats(e)) return out;
  const Stats s = stats_of(e);
  out["min"] = s.of_finite(s.min);
  out["max"] = s.of_finite(s.max);
  out["mean"] = s.mean();
  out["nan"] = s.nan;
  out["inf"] = s.inf;
  return out;
}

Status show_tensors(const Options& o) {
  CLEAVE_TRY(const SafetensorsFile file, open_tensors(o.file));
  size_t bytes = 0;
  for (const TensorEntry& e : file.entries()) bytes += e.data.size();
  if (o.json) {
    Json tensors = Json::array(), metadata = Json::object();
    for (const TensorEntry& e : file.entries()) tensors.push_back(as_json(e, o.stats));
    for (const auto& [key, text] : file.metadata()) metadata[key] = text;
    return print_json({{"tensors", tensors}, {"bytes", bytes}, {"metadata", metadata}});
  }
  for (const TensorEntry& e : file.entries()) {
    fmt::print("{:<40} {:<20} {:>12} B", printable(e.name), type_text(e), e.data.size());
    if (o.stats && has_stats(e)) {
      const Stats s = stats_of(e);
      fmt::print("  min {:.6g}, max {:.6g}, mean {:.6g}", s.of_finite(s.min), s.of_finite(s.max),
                 s.mean());
      if (s.nan > 0) fmt::print(", {} NaN", s.nan);
      if (s.inf > 0) fmt::print(", {} inf", s.inf);
    }
    fmt::print("\n");
  }
  fmt::print("{} tensors, {} B\n", file.entries().size(), bytes);
  for (const auto& [key, text] : file.metadata())
    fmt::print("metadata {}: {}\n", printable(key), printable(text));
  return {};
}

Status show_graph(const Options& o) {
  if (o.stats) return user_error("--stats: of the tensors of a .safetensors file");
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  CLEAVE_TRY(const Program p, read_program(o.file, ops));
  const Graph& g = p.main;
  std::map<std::string, int64_t> calls;
  for (const NodeId n : g.order()) ++calls[g.node(n).op->name];
  Json inputs = Json::array(), results = Json::array(), counts = Json::object();
  for (const Placeholder& in : g.placeholders())
    inputs.push_back({{"name", g.name(in.value)},
                      {"role", std::string(name_of(in.role))},
                      {"type", g.type(in.value).text()}});
  for (const Return& r : g.returns())
    results.push_back({{"name", g.name(r.value)}, {"type", g.type(r.value).text()}});
  for (const auto& [name, count] : calls) counts[name] = count;
  if (o.json)
    return print_json(
        {{"name", g.name()}, {"placeholders", inputs}, {"returns", results}, {"calls", counts}});
  for (const Placeholder& in : g.placeholders())
    fmt::print("{:<9} {:<31} {}\n", name_of(in.role), "%" + g.name(in.value),
               g.type(in.value).text());
  for (const Return& r : g.returns())
    fmt::print("{:<9} {:<31} {}\n", "return", "%" + g.name(r.value), g.type(r.value).text());
  fmt::print("{} calls:", g.node_count());
  for (const auto& [name, count] : calls) fmt::print(" {} {}", count, name);
  fmt::print("\n");
  return {};
}

}  // namespace

Command show_command() {
  return {"show", "what is in a file of tensors, or in a graph",
          "  cleave show weights.safetensors --stats\n  cleave show model.clv",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("FILE", o->file,
                             ".safetensors, or a graph (.clv, .pt2); - is tensors");
            options.flag("--stats", o->stats,
                         "least, largest and mean element of each tensor, and how many are NaN or "
                         "infinite, which don't count in these");
            options.flag("--json", o->json,
                         "one JSON object: tensors, bytes, metadata; of a graph placeholders, "
                         "returns, calls");
            return [o] {
              const bool is_graph = o->file.ends_with(".clv") || o->file.ends_with(".pt2");
              return is_graph ? show_graph(*o) : show_tensors(*o);
            };
          }};
}

}  // namespace cleave::tool
