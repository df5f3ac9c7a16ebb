// fuzz_partial [N [SEED [FOLDER]]]: N random graphs from SEED on, taken apart in every way:
//
//   lowered    random predicates and groupings: the lowered graph, compiled whole, has the bits of
//              the graph
//   partial    its regions compiled, the rest by the reference rules: the oracle's numbers
//   halves     forward and backward called apart, by a random partition and compiler: the bits of
//              the joint graph, or the oracle's numbers for compilers that compute otherwise
//   debug_nop  no difference where there is none; a difference that is planted is found at its call
//
// Each fifth graph has a symbolic size, each tenth is compiled by the compiler, the others are
// interpreted. A graph that differs is written to FOLDER as wrong_SEED.clv with its inputs. Exit
// status: 0 none differs, 1 some do, 2 it can't run.
#include <chrono>
#include <random>

#include "cleave/aot.h"
#include "cleave/partial.h"
#include "compilers/compilers.h"
#include "cut/joint_view.h"
#include "interp/array_memory.h"
#include "interp/moved_oracle.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/program/main.h"
#include "test/sample/random_graph.h"
#include "test/sample/save_graph.h"
#include "test/sample/symbolic_graph.h"

namespace cleave::random {
namespace {

struct Totals {
  int64_t graphs = 0, symbolic = 0, regions = 0, outside = 0, halves = 0, planted = 0, refused = 0,
          wrong = 0;
};

// The first return of each run.
std::vector<const Array*> first_of(const std::vector<Arrays>& runs) {
  std::vector<const Array*> out;
  for (const Arrays& run : runs) out.push_back(&run[0]);
  return out;
}

HostTensors tensors_of(const Graph& g, const Arrays& inputs) {
  HostTensors out;
  for (size_t k = 0; k < inputs.size(); ++k)
    out.push_back(tensor_of(inputs[k], g.type(g.placeholders()[k].value)));
  return out;
}

bool same_bits(const HostTensors& a, const HostTensors& b) {
  return std::ranges::equal(a, b, [](const HostTensor& x, const HostTensor& y) {
    if (x.same_bits(y)) return true;
    if (x.dtype() != y.dtype() || x.shape() != y.shape()) return false;
    for (int64_t k = 0; k < x.numel(); ++k)  // the sign of a NaN is open
      if (x.number(k) != y.number(k) && !(std::isnan(x.number(k)) && std::isnan(y.number(k))))
        return false;
    return true;
  });
}

// What a call gives, or its error: an index may be out of range.
struct Said {
  HostTensors results;
  std::string error;
};
Said said(const GraphCallable& f, const HostTensors& inputs) {
  try {
    return {f(HostTensors(inputs)), ""};
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::user) throw;
    return {{}, e.what()};
  }
}

class Apart {
 public:
  Apart(const RandomGraph& r, const SymbolValues& symbols, uint64_t seed, Totals& totals)
      : r_(r), sized_(is_static(r.g) ? r.g : value_or_throw(specialize(r.g, symbols))),
        graph_(traced_graph(r.g, {})), rng_(seed), totals_(totals) {
    inputs_ = tensors_of(sized_, r.inputs);
    // No pass may round otherwise: what is compared was cut elsewhere.
    options_ = {.threads = 1,
                .compiler = seed % 10 == 0 ? CompilerChoice::automatic : CompilerChoice::none,
                .strict = true};
    whole_ = said(native(options_)(graph_, inputs_), inputs_);
  }

  std::string wrong_when_lowered() {
    PartialOptions options{.least_calls = 1 + static_cast<int64_t>(rng_() % 4),
                           .grouping = rng_() % 2 == 0 ? Grouping::runs : Grouping::convex,
                           .backend = native(options_)};
    const uint64_t share = rng_() % 4;
    options.node = [this, share](const GraphCall&) { return rng_() % 4 >= share; };
    if (rng_() % 3 == 0) options.region = [this](const TracedGraph&) { return rng_() % 3 != 0; };
    PartialProgram program = partial_lower(graph_, options);
    totals_.regions += std::ssize(program.regions());
    totals_.outside += std::ssize(program.outside());
    const TracedGraph again = TracedGraph::parse(program.graph().text());
    const Said lowered = said(native(options_)(again, inputs_), inputs_);
    if (lowered.error.empty() != whole_.error.empty() ||
        !same_bits(lowered.results, whole_.results))
      return "lowered: it differs";
    const Said run = said([&](HostTensors&& in) { return program.run(std::move(in)); }, inputs_);
    if (run.error.empty() != whole_.error.empty())
      return "partial: it says '" + run.error + "', not '" + whole_.error + "'";
    return run.error.empty() ? differs("partial", sized_, inputs_, run.results) : "";
  }

  std::string wrong_in_debug() {
    const Said none = said(debug_nop(native(options_))(graph_, inputs_), inputs_);
    if (none.error.empty() != whole_.error.empty())
      return "debug_nop: it says '" + none.error + "', not '" + whole_.error + "'";
    if (!none.error.empty()) return "";
    const std::vector<GraphCall> calls = graph_.calls();
    if (calls.empty()) return "";
    const std::string at = calls[rng_() % calls.size()].results[0].name;
    bool is_planted = false;
    const GraphCompiler planting = [&](const TracedGraph& g, const HostTensors& examples) {
      GraphCallable f = native(options_)(g, examples);
      if (g.name() != at) return f;
      return GraphCallable([f, g, &is_planted](HostTensors&& in) {
        const Graph& call = g.state().graph;
        Arrays operands;
        for (const HostTensor& t : in) operands.push_back(array_of(t));
        HostTensors out = f(std::move(in));
        const Arrays want = value_or_throw(run_oracle(call, operands));
        const std::vector<Arrays> moved = moved_oracles(call, operands);
        is_planted = plant(out[0], Allowance(want[0], first_of(moved)));
        return out;
      });
    };
    std::string found;
    try {
      debug_nop(planting)(graph_, inputs_)(HostTensors(inputs_));
    } catch (const Error& e) { found = e.what(); }
    if (!is_planted) return "";
    ++totals_.planted;
    if (found.find("of %" + at) == std::string::npos &&
        found.find("output 0 of %" + at) == std::string::npos)
      return "planted: at %" + at + ", found '" + found + "'";
    return "";
  }

  std::string wrong_in_halves(const OpRegistry& ops, uint64_t seed) {
    if (std::ranges::none_of(r_.g.placeholders(), &Placeholder::wants_grad)) return "";
    for (bool updates = false; const Return& x : r_.g.returns()) {
      if (updates && x.kind == ReturnKind::result) return "";  // aot_function refuses it
      updates |= x.kind == ReturnKind::update;
    }
    const RandomGraph joint = value_or_throw(with_gradients(r_, ops, seed));
    if (!joint.g.is_joint() || !is_static(r_.g)) return "";
    const HostTensors inputs = tensors_of(joint.g, joint.inputs);
    const Said want = said(native(options_)(traced_graph(joint.g, {}), inputs), inputs);
    const Partitioner partitions[] = {Partitioner::standard(), Partitioner::pytorch(),
                                      Partitioner::pytorch(0.5), Partitioner::exact(),
                                      Partitioner::own([&](const TracedGraph& g) {
                                        std::vector<std::string> out;
                                        for (const GraphCall& call : g.calls())
                                          for (const GraphValue& v : call.results)
                                            if (rng_() % 3 == 0 && !reads_tangent(g, v.name))
                                              out.push_back(v.name);
                                        return out;
                                      })};
    const GraphCompiler compilers[] = {native(options_), simple_script(options_), script(options_),
                                       debug_nop(native(options_)), nop()};
    const size_t of = rng_() % std::size(compilers);
    AotOptions aot{.forward = compilers[of],
                   .partition = partitions[rng_() % std::size(partitions)]};
    const bool keeps_bits = of < 3 && rng_() % 2 == 0;
    if (!keeps_bits) aot.decompositions = Decompositions::defaults();
    AotFunction f = aot_function(graph_, aot);
    ++totals_.halves;
    std::vector<InputRef> given, cotangents;
    HostTensors own = inputs;  // updates are written there
    for (size_t k = 0; k < own.size(); ++k) {
      const Role role = joint.g.placeholders()[k].role;
      if (role == Role::tangent)
        cotangents.emplace_back(own[k]);
      else if (role != Role::symint)
        given.emplace_back(own[k]);
    }
    HostTensors got;
    try {
      got = f.forward(given);
      std::map<std::string, HostTensor> gradients;
      AotGradients backward = f.backward(cotangents);
      size_t next = 0;
      for (size_t k = 0; k < joint.g.returns().size(); ++k) {
        const Return& x = joint.g.returns()[k];
        if (x.kind == ReturnKind::update)
          got.push_back(own[joint.g.value(x.target).index]);
        else if (x.kind == ReturnKind::grad)
          got.push_back(std::move(backward.inputs[next++]));
      }
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::user || want.error.empty()) throw;
      return "";
    }
    if (!want.error.empty()) return "halves: no error, expected '" + want.error + "'";
    if (keeps_bits) return same_bits(got, want.results) ? "" : "halves: they differ";
    return differs("halves", joint.g, inputs, got);
  }

 private:
  static std::string differs(const char* what, const Graph& g, const HostTensors& inputs,
                             const HostTensors& got) {
    Arrays in, out;
    for (const HostTensor& t : inputs) in.push_back(array_of(t));
    for (const HostTensor& t : got) out.push_back(array_of(t));
    const Agreement a = value_or_throw(compare_with_oracle(g, in, out, Narrowing::may_be_dropped));
    return a.difference.empty() ? "" : fmt::format("{}: return {}, {}", what, a.at, a.difference);
  }
  // Whether anything was changed that rounding doesn't decide: another number, far off, beside the
  // largest one too, to which errors are relative.
  static bool plant(HostTensor& t, const Allowance& allowed) {
    bool any = false;
    double largest = 1;
    for (int64_t k = 0; k < t.numel(); ++k)
      if (const double x = std::abs(t.number(k)); std::isfinite(x)) largest = std::max(largest, x);
    for (int64_t k = 0; k < t.numel(); ++k) {
      const double x = t.number(k);
      if (!std::isfinite(x) || std::abs(x) > 1e3 || allowed.is_open(k)) continue;
      t.set_number(k, t.dtype() == DType::boolean ? 1 - x
                      : is_floating(t.dtype())    ? x + 1e4 * largest
                      : x == 0                    ? 1
                                                  : 0);
      any = true;
    }
    return any;
  }
  static bool reads_tangent(const TracedGraph& g, const std::string& name) {
    const Graph& graph = g.state().graph;
    return !value_or_throw(JointView::make(graph)).forward_can_compute(graph.find(name));
  }

  const RandomGraph& r_;
  const Graph sized_;  // static
  const TracedGraph graph_;
  HostTensors inputs_;
  CompileOptions options_;
  Said whole_;
  std::mt19937_64 rng_;
  Totals& totals_;
};

void one(const OpRegistry& ops, uint64_t seed, const std::string& folder, Totals& totals) {
  GraphOptions options;
  options.elements = 1 << 8;
  options.flops = 1 << 16;
  RandomGraph r = value_or_throw(random_graph(ops, seed, options));
  ++totals.graphs;
  const auto tell = [&](const RandomGraph& g, const Result<std::string>& wrong) {
    if (!wrong.ok() && is_unsupported(wrong.failure())) {
      ++totals.refused;
      return;
    }
    if (wrong.ok() && wrong->empty()) return;
    ++totals.wrong;
    report(fmt::format("seed {}: {}\n", seed, wrong.ok() ? *wrong : failing(wrong.failure())));
    save_graph(g, folder, seed);
  };
  const auto check = [&](const RandomGraph& g, const SymbolValues& symbols) {
    tell(g, caught([&]() -> Result<std::string> {
           try {
             Apart apart(g, symbols, seed, totals);
             std::string wrong = apart.wrong_when_lowered();
             if (wrong.empty()) wrong = apart.wrong_in_debug();
             if (wrong.empty()) wrong = apart.wrong_in_halves(ops, seed);
             return wrong;
           } catch (const Error& e) { return Failure{e.kind(), e.what()}; }
         }));
  };
  check(r, {});
  if (seed % 5 != 0) return;
  const std::optional<RandomGraph> symbolic = with_symbol(r, seed);
  if (!symbolic || !verify(symbolic->g).ok()) return;
  ++totals.symbolic;
  check(*symbolic, symbolic->symbols);
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 100), seed = given.number(2, "SEED", 0);
  const std::string folder = given.text(3, "build/wrong_graphs");
  const OpRegistry ops = value_or_throw(core_ops());
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t k = seed; k < seed + n; ++k)
    totals.wrong += failures(fmt::format("seed {}", k), [&] { one(ops, k, folder, totals); });
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} graphs from seed {} ({} with a symbolic size; {} regions, {} calls outside; {} in "
      "halves; "
      "{} planted), in {:.0f} s: {} refused as unsupported, {} differ\n",
      totals.graphs, seed, totals.symbolic, totals.regions, totals.outside, totals.halves,
      totals.planted, s.count(), totals.refused, totals.wrong);
  return totals.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
