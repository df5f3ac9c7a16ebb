// Runs programs of torch.export from stdin, for opinfo.py: two lines a case.
//
//   1. the program, in the JSON of a .pt2 file (import/exported/read_program.h)
//   2. {"inputs": {"x": BYTES}, "cotangents": [BYTES or null, ...]}
//
// A line of JSON for each:
//
//   {"outcome": "ran", "why": "", "gradient": "", "random": false,
//    "results": [TENSOR, ...], "tangents": [0], "grads": {"x": TENSOR}}
//   outcome   ran, refused (unsupported, or a rule of an operator that the call breaks), wrong (any
//             other failure); `why` is the message
//   gradient  why there is none, though an input asks for it; the results are there all the same
//   tangents  the results that have a cotangent, which is of zeros where none is given
//
// BYTES are row-major elements in hexadecimal, TENSOR is {"dtype", "shape", "data": BYTES}.
// --interpreted runs kernels as bytecode, which compiles nothing.
#include <iostream>

#include "base/json.h"
#include "grad/grad.h"
#include "import/exported/json.h"
#include "import/exported/model_reader.h"
#include "import/exported/read_program.h"
#include "interp/array_memory.h"
#include "op/registry.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

using exported::Element;
using exported::Object;

// The directory of an archive without entries.
Result<ZipArchive> empty_archive() {
  std::vector<std::byte> bytes(22);
  constexpr std::string_view signature = "PK\5\6";
  std::ranges::transform(signature, bytes.begin(), [](char c) { return std::byte(c); });
  return ZipArchive::from_bytes(std::move(bytes), "stdin");
}

std::vector<std::byte> from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::byte> out(text.size() / 2);
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = std::byte(digit(text[2 * k]) * 16 + digit(text[2 * k + 1]));
  return out;
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += digits[std::to_integer<size_t>(b) / 16];
    out += digits[std::to_integer<size_t>(b) % 16];
  }
  return out;
}

Json json_of(const Array& a) {
  Json shape = Json::array();
  for (const int64_t n : a.shape) shape.push_back(n);
  return {{"dtype", name_of(a.dtype)}, {"shape", shape}, {"data", to_hex(to_memory(a))}};
}

Result<Array> array_of(const Type& t, Element bytes) {
  CLEAVE_TRY(const std::string text, exported::text_of(bytes, "bytes"));
  const std::vector<std::byte> memory = from_hex(text);
  const Array a(t.dtype, static_shape(t));
  if (memory.size() != to_memory(a).size())
    return user_error("{} bytes of {}", memory.size(), t.text());
  return from_memory(t.dtype, a.shape, memory.data());
}

// Number K of tangent.K; negative for the other placeholders.
int64_t tangent_number(const Graph& g, size_t placeholder) {
  const Placeholder& p = g.placeholders()[placeholder];
  if (p.role != Role::tangent) return -1;
  const std::string& name = g.name(p.value);
  return std::stoll(name.substr(name.rfind('.') + 1));
}

Result<Arrays> inputs_of(const Graph& g, Object given) {
  CLEAVE_TRY(const Element named, exported::member(given, "inputs"));
  CLEAVE_TRY(const Object inputs, exported::object_of(named, "inputs"));
  CLEAVE_TRY(const Element listed, exported::member(given, "cotangents"));
  CLEAVE_TRY(const exported::Array cotangents, exported::array_of(listed, "cotangents"));
  Arrays out;
  for (size_t i = 0; i < g.placeholders().size(); ++i) {
    const Placeholder& p = g.placeholders()[i];
    const Type& t = g.type(p.value);
    out.emplace_back(t.dtype, static_shape(t));
    const int64_t tangent = tangent_number(g, i);
    if (p.role == Role::rng_state) {
      out.back().i = {1, 0};
    } else if (tangent < 0) {
      CLEAVE_TRY(const Element bytes, exported::member(inputs, g.name(p.value)));
      CLEAVE_TRY(out.back(), array_of(t, bytes));
    } else if (const auto k = static_cast<size_t>(tangent);
               k < cotangents.size() && !cotangents.at(k).is_null()) {
      CLEAVE_TRY(out.back(), array_of(t, cotangents.at(k)));
    }
  }
  return out;
}

bool wants_gradients(const Graph& g) {
  return std::ranges::any_of(g.placeholders(), &Placeholder::wants_grad);
}

Result<Json> run_case(const ZipArchive& zip, const OpRegistry& ops, CompilerChoice compiler,
                      const std::string& program, const std::string& data) {
  exported::ArchivedModel model;
  CLEAVE_TRY(model.program, exported::read_program(program));
  if (const UncoveredCalls missing = exported::uncovered(model.program.graph, ops);
      !missing.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, calls] : missing) names.push_back(name);
    return unsupported("operator {}", fmt::join(names, ", "));
  }
  ImportOptions options;
  options.updates = UpdateOrder::last;
  Result<ImportedModel> m = exported::ModelReader(zip, std::move(model), ops, 0).read(options);
  // What PyTorch allows and an operator's rule does not is legal, and not covered.
  if (!m.ok() && m.failure().kind == ErrorKind::user) return unsupported("{}", m.failure().message);
  if (!m.ok()) return std::move(m).failure();
  Graph g = m->program.main;
  std::string without;
  if (wants_gradients(g)) {
    if (Result<Graph> joint = make_joint(g, ops); joint.ok())
      g = *std::move(joint);
    else
      without = joint.failure().message;
  }
  simdjson::dom::parser parser;
  CLEAVE_TRY(const Element root, exported::parse_json(parser, data));
  CLEAVE_TRY(const Object given, exported::object_of(root, "the data"));
  CLEAVE_TRY(const Arrays inputs, inputs_of(g, given));
  CLEAVE_TRY(const Arrays results, law::run_graph(g, ops, inputs, compiler, 1));
  Json out = {{"outcome", "ran"}, {"why", ""}, {"gradient", without}, {"random", false}};
  for (const char* key : {"results", "tangents"}) out[key] = Json::array();
  out["grads"] = Json::object();
  for (size_t k = 0; k < results.size(); ++k) {
    const Return& r = g.returns()[k];
    if (r.kind == ReturnKind::result) out["results"].push_back(json_of(results[k]));
    if (r.kind == ReturnKind::grad) out["grads"][g.name(r.target)] = json_of(results[k]);
  }
  for (size_t i = 0; i < g.placeholders().size(); ++i) {
    if (g.placeholders()[i].role == Role::rng_state) out["random"] = true;
    if (const int64_t k = tangent_number(g, i); k >= 0) out["tangents"].push_back(k);
  }
  return out;
}

int run_cases(CompilerChoice compiler) {
  const Result<OpRegistry> ops = core_ops();
  const Result<ZipArchive> zip = empty_archive();
  if (!ops.ok() || !zip.ok()) return 1;
  for (std::string program, data;
       std::getline(std::cin, program) && std::getline(std::cin, data);) {
    const Result<Json> r = run_case(*zip, *ops, compiler, program, data);
    const bool refused = !r.ok() && r.failure().kind == ErrorKind::unsupported;
    const Json line =
        r.ok() ? *r
               : Json{{"outcome", refused ? "refused" : "wrong"}, {"why", r.failure().message}};
    fmt::print("{}\n", line.text());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  const bool interpreted = argc > 1 && argv[1] == std::string_view("--interpreted");
  return cleave::run_cases(interpreted ? cleave::CompilerChoice::none
                                       : cleave::CompilerChoice::automatic);
}
