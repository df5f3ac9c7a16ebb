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

#include "grad/grad.h"
#include "interp/interpret.h"
#include "op/registry.h"
#include "test/sample/peer_file.h"
#include "test/sample/run_program.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

struct SampleGraph {
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
std::string missing_gradient(const OpRegistry& ops, const OpDef& op, const Sample& sample,
                             size_t k) {
  Graph g;
  Arrays inputs;
  auto call = add_sample(g, op, sample, k, Floats::own, "s", inputs);
  if (!call.ok()) return call.failure().message;
  ask_for_gradients(g, 0);
  const Node& node = g.node(call->node);
  for (uint32_t r = 0; r < node.output_count; ++r)
    if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
  const Result<Graph> joint = make_joint(g, ops);
  if (joint.ok()) return "";
  return joint.failure().kind == ErrorKind::unsupported ? joint.failure().message : "";
}

Result<SampleGraph> samples_of(const OpRegistry& ops, const OpDef& op) {
  SampleGraph out;
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k) {
    if (!is_static(samples[k])) continue;
    const size_t first = out.g.placeholders().size();
    CLEAVE_TRY(SampleCall call, add_sample(out.g, op, samples[k], k, Floats::own,
                                           fmt::format("s{}", k), out.inputs));
    if (std::string why = missing_gradient(ops, op, samples[k], k); why.empty())
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

void add_results(TensorFile& file, const std::string& engine, const Graph& g,
                 const Arrays& results) {
  for (size_t k = 0; k < results.size(); ++k) {
    const Return& r = g.returns()[k];
    file.add(r.kind == ReturnKind::grad ? fmt::format("{}.grad.{}", engine, g.name(r.target))
                                        : fmt::format("{}.{}", engine, k),
             results[k]);
  }
}

// Whether PyTorch gives the result no gradient where we do: the sums of flash attention.
bool is_left_out(const OpDef& op, const Graph& forward, const std::string& tangent) {
  if (op.name != "_scaled_dot_product_flash_attention_for_cpu") return false;
  const size_t k = std::stoul(tangent.substr(tangent.find('.') + 1));
  return forward.value(forward.returns()[k].value).index == 1;
}

Status write_operator(const OpRegistry& ops, const OpDef& op, const std::string& folder) {
  CLEAVE_TRY(SampleGraph s, samples_of(ops, op));
  std::string why = s.without_gradient;
  const Graph g = joint_or_forward(s.g, op, ops, why);
  Arrays inputs = s.inputs;
  TensorFile file;
  for (size_t i = 0; i < s.inputs.size(); ++i)
    file.add(s.g.name(s.g.placeholders()[i].value), s.inputs[i]);
  for (size_t i = inputs.size(); i < g.placeholders().size(); ++i) {
    const ValueId v = g.placeholders()[i].value;
    inputs.push_back(random_weights(g.type(v), seed_of(op.name + g.name(v))));
    for (double& x : inputs.back().f)
      x = is_left_out(op, s.g, g.name(v)) ? 0 : round_to(inputs.back().dtype, x);
    file.add("co" + g.name(v), inputs.back());
  }
  std::vector<const Array*> in;
  for (const Array& a : inputs) in.push_back(&a);
  CLEAVE_TRY(const Arrays reference, interpret(g, in));
  add_results(file, "reference", g, reference);
  CLEAVE_TRY(const Arrays compiled, run_graph(g, ops, inputs, CompilerChoice::automatic, 1));
  add_results(file, "compiled", g, compiled);
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
