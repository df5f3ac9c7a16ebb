// write_samples FOLDER [OPERATOR ...]: every sample of the operators, with what cleave makes of it,
// for samples.py to compare with PyTorch. write_samples --list: the operators' names.
//
// For each operator OP.safetensors and OP.json. The file of tensors:
//   s3.self            operand `self` of sample 3, as the sample gives it
//   cotangent.K        cotangent of return K (returns are numbered over all samples)
//   reference.K        return K by the oracle;  compiled.K by compiled code
//   reference.grad.s3.self, compiled.grad.s3.self
// OP.json: {"gradient": "" or why a sample has none,
//           "samples": [{"sample": 3, "args": [[NAME, {"tensor": "s3.self"}], ...],
//                        "returns": [K or null]}]}
// with {"tensors": [...]} for a list and {"value": ...} for attributes; {"dtype": "f32"} and
// {"memory_format": "channels_last"} for those kinds. Arguments stand in the signature's order.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cleave/executor.h"
#include "compile/executable.h"
#include "grad/grad.h"
#include "import/safetensors.h"
#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "op/registry.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const AttrValue& v) {
  if (v.is_none()) return nullptr;
  if (auto* b = v.get<bool>()) return *b;
  if (auto* d = v.get<Dim>()) return d->is_const() ? Json(d->value()) : Json(d->text());
  if (auto* f = v.get<double>())
    return std::isfinite(*f) ? Json(*f) : Json{{"float", double_text(*f)}};
  if (auto* s = v.get<std::string>()) return *s;
  if (auto* t = v.get<DType>()) return {{"dtype", name_of(*t)}};
  if (auto* m = v.get<MemoryFormat>()) return {{"memory_format", name_of(*m)}};
  Json list = Json::array();
  if (auto* l = v.get<AttrList>())
    for (const AttrValue& item : *l) list.push_back(json_of(item));
  return list;
}

// The arguments of a call in the signature's order; those left out are left out.
Json arguments_of(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  const Schema& schema = node.op->schema;
  Json out = Json::array();
  size_t flat = 0;
  for (size_t k = 0; k < schema.args.size(); ++k) {
    const ArgDef& arg = schema.args[k];
    const AttrValue* given = node.attrs.find(static_cast<uint16_t>(k));
    if (arg.is_operand()) {
      const size_t items = arg.list ? node.list_size : 1;
      Json tensors = Json::array();
      for (size_t i = 0; i < items; ++i, ++flat) {
        const ValueId v = node.inputs[flat];
        tensors.push_back(v.valid() ? Json(g.name(v)) : Json());
      }
      if (arg.list)
        out.push_back({arg.name, {{"tensors", tensors}}});
      else if (given)
        out.push_back({arg.name, {{"value", json_of(*given)}}});
      else if (!tensors[0].is_null())
        out.push_back({arg.name, {{"tensor", tensors[0]}}});
    } else if (given) {
      out.push_back({arg.name, {{"value", json_of(*given)}}});
    }
  }
  return out;
}

struct Samples {
  Graph g{"samples"};
  Arrays inputs;
  Json json = Json::array();
  std::string without_gradient;  // why some sample has none
};

// Asks for the gradient of every floating placeholder from number `first` on.
void ask_for_gradients(Graph& g, size_t first) {
  for (size_t i = first; i < g.placeholders().size(); ++i)
    g.placeholder(i).wants_grad = g.placeholders()[i].role == Role::input &&
                                  is_floating(g.type(g.placeholders()[i].value).dtype);
}

// Whether the entry has a gradient for this call; else why not.
std::string missing_gradient(const OpRegistry& ops, const OpDef& op, size_t k) {
  Graph g;
  Arrays inputs;
  auto call = add_sample(g, op, op.samples[k], k, Floats::own, "s", inputs);
  if (!call.ok()) return call.failure().message;
  ask_for_gradients(g, 0);
  const Node& node = g.node(call->node);
  for (uint32_t r = 0; r < node.output_count; ++r)
    if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
  const Result<Graph> joint = make_joint(g, ops);
  if (joint.ok()) return "";
  return joint.failure().kind == ErrorKind::unsupported ? joint.failure().message : "";
}

Result<Samples> samples_of(const OpRegistry& ops, const OpDef& op) {
  Samples out;
  for (size_t k = 0; k < op.samples.size(); ++k) {
    const size_t first = out.g.placeholders().size();
    CLEAVE_TRY(SampleCall call, add_sample(out.g, op, op.samples[k], k, Floats::own,
                                           fmt::format("s{}", k), out.inputs));
    if (std::string why = missing_gradient(ops, op, k); why.empty())
      ask_for_gradients(out.g, first);
    else
      out.without_gradient = std::move(why);
    Json returns = Json::array();
    const Node& node = out.g.node(call.node);
    for (uint32_t r = 0; r < node.output_count; ++r) {
      if (out.g.type(node.out(r)).is_none) {
        returns.push_back(nullptr);
        continue;
      }
      returns.push_back(out.g.returns().size());
      out.g.add_return({node.out(r), ReturnKind::result, {}});
    }
    out.json.push_back(
        {{"sample", k}, {"args", arguments_of(out.g, call.node)}, {"returns", returns}});
  }
  return out;
}

// The joint graph, or the forward one and why there is no other.
Graph joint_or_forward(const Graph& g, const OpDef& op, const OpRegistry& ops, std::string& why) {
  if (!op.grad.present()) {
    why = op.grad.reason();
    return g;
  }
  Result<Graph> joint = make_joint(g, ops);
  if (joint.ok()) return *std::move(joint);
  why = joint.failure().message;
  return g;
}

Result<Arrays> run_compiled(const Graph& g, const OpRegistry& ops, const Arrays& inputs) {
  CLEAVE_TRY(auto program, CompiledProgram::compile(g, ops, {}));
  CLEAVE_TRY(auto instance, Instance::make(program, make_thread_pool(1)));
  std::vector<std::vector<std::byte>> bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bound.push_back(to_memory(inputs[i]));
    bound.back().resize(bound.back().size() + 64);  // an empty tensor has an address too
    CLEAVE_CHECK(instance->bind(i, bound.back().data()));
  }
  CLEAVE_CHECK(instance->run());
  Arrays out;
  for (size_t k = 0; k < g.returns().size(); ++k) {
    const Type& t = g.type(g.returns()[k].value);
    out.push_back(from_memory(t.dtype, static_shape(t), instance->result(k)));
  }
  return out;
}

class File {
 public:
  void add(const std::string& name, const Array& a) {
    memory_.push_back(to_memory(a));
    entries_.push_back({name, a.dtype, a.shape, memory_.back()});
  }
  void add_results(const std::string& engine, const Graph& g, const Arrays& results) {
    for (size_t k = 0; k < results.size(); ++k) {
      const Return& r = g.returns()[k];
      add(r.kind == ReturnKind::grad ? fmt::format("{}.grad.{}", engine, g.name(r.target))
                                     : fmt::format("{}.{}", engine, k),
          results[k]);
    }
  }
  Status write(const std::string& path) const { return write_safetensors(path, entries_); }

 private:
  std::deque<std::vector<std::byte>> memory_;
  std::vector<TensorEntry> entries_;
};

Status write_operator(const OpRegistry& ops, const OpDef& op, const std::string& folder) {
  CLEAVE_TRY(Samples s, samples_of(ops, op));
  std::string why = s.without_gradient;
  const Graph g = joint_or_forward(s.g, op, ops, why);
  Arrays inputs = s.inputs;
  File file;
  for (size_t i = 0; i < s.inputs.size(); ++i)
    file.add(s.g.name(s.g.placeholders()[i].value), s.inputs[i]);
  for (size_t i = inputs.size(); i < g.placeholders().size(); ++i) {
    const ValueId v = g.placeholders()[i].value;
    inputs.push_back(random_weights(g.type(v), seed_of(op.name + g.name(v))));
    for (double& x : inputs.back().f) x = round_to(inputs.back().dtype, x);
    file.add("co" + g.name(v), inputs.back());
  }
  std::vector<const Array*> in;
  for (const Array& a : inputs) in.push_back(&a);
  CLEAVE_TRY(const Arrays reference, interpret(g, in));
  file.add_results("reference", g, reference);
  CLEAVE_TRY(const Arrays compiled, run_compiled(g, ops, inputs));
  file.add_results("compiled", g, compiled);
  CLEAVE_CHECK(file.write(folder + "/" + op.name + ".safetensors"));
  std::ofstream(folder + "/" + op.name + ".json")
      << Json{{"gradient", why}, {"samples", s.json}}.dump(1) << "\n";
  return {};
}

int run(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: write_samples FOLDER [OPERATOR ...], or --list\n");
    return 1;
  }
  const OpRegistry ops = value_or_throw(core_ops());
  const std::vector<std::string> wanted(argv + 2, argv + argc);
  int bad = 0;
  for (const auto& op : ops.all()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), op->name) == wanted.end())
      continue;
    if (!op->reference.present() || !op->lower.present()) continue;
    if (argv[1] == std::string_view("--list")) {
      fmt::print("{}\n", op->name);
      continue;
    }
    if (const Status s = write_operator(ops, *op, argv[1]); !s.ok()) {
      fmt::print(stderr, "{}: {}\n", op->name, s.failure().message);
      ++bad;
    }
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::law

int main(int argc, char** argv) {
  try {
    return cleave::law::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 3;
  }
}
