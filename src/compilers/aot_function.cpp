#include <algorithm>
#include <map>
#include <mutex>

#include "cleave/aot.h"
#include "compilers/aot_halves.h"
#include "exec/recently_used.h"
#include "ir/strides.h"
#include "trace/recording.h"

namespace cleave {
namespace {

std::string what_of(const TracedGraph& graph) {
  return "aot_function: the compiler's callable for @" + graph.name();
}

GraphCallable compiled(const GraphCompiler& compiler, const TracedGraph& graph,
                       const HostTensors& examples) {
  GraphCallable out = compiler(graph, examples);
  if (!out)
    throw_failure(
        user_error("aot_function: the compiler returned no callable for @{}", graph.name()));
  return out;
}

}  // namespace

struct AotFunction::State {
  State(std::unique_ptr<AotSource> s, AotOptions o)
      : source(std::move(s)), options(std::move(o)),
        known(static_cast<size_t>(options.kept_sizes)) {}

  std::shared_ptr<Halves> halves_for(const std::vector<int64_t>& sizes);
  HostTensors forward(std::span<const InputRef> inputs);
  HostTensors cotangents_of(const Halves& halves, std::span<const InputRef> given) const;
  AotGradients backward(std::span<const InputRef> cotangents);
  AotGradients gradients_of(const Halves& halves, HostTensors&& results) const;

  std::mutex mutex;  // of all
  const std::unique_ptr<AotSource> source;
  const AotOptions options;
  RecentlyUsed<std::shared_ptr<Halves>> known;
  std::shared_ptr<Halves> last;
  // What the last forward kept, until the backward runs, and the versions of the parameters then.
  std::optional<HostTensors> kept;
  std::vector<int64_t> versions;
};

std::shared_ptr<Halves> AotFunction::State::halves_for(const std::vector<int64_t>& sizes) {
  if (const std::shared_ptr<Halves>* found = known.find(sizes)) return *found;
  auto made = std::make_shared<Halves>(source->halves(sizes));
  known.add(sizes, made);
  return made;
}

HostTensors AotFunction::State::forward(std::span<const InputRef> inputs) {
  const std::lock_guard lock(mutex);
  kept.reset();
  const std::shared_ptr<Halves> halves = halves_for(source->sizes(inputs));
  last = halves;
  const Graph& g = halves->forward.state().graph;
  HostTensors given = source->operands(g, inputs);
  if (!halves->run_forward)
    halves->run_forward =
        compiled(!halves->backward && options.inference ? options.inference : options.forward,
                 halves->forward, given);
  HostTensors out = halves->run_forward(std::move(given));
  value_or_throw(check_results(halves->forward.state().graph, out, what_of(halves->forward)));
  // What the function assigns is written once its forward has run.
  for (size_t k = halves->results; k < g.returns().size(); ++k)
    if (const Return& r = g.returns()[k]; r.kind == ReturnKind::update)
      source->target(g.name(r.target), inputs).copy_from(out[k]);
  if (halves->backward) {
    kept.emplace(
        std::make_move_iterator(out.begin() + static_cast<std::ptrdiff_t>(halves->kept_at)),
        std::make_move_iterator(out.end()));
    versions = source->versions();
  }
  out.resize(halves->results);
  return out;
}

HostTensors AotFunction::State::cotangents_of(const Halves& halves,
                                              std::span<const InputRef> given) const {
  const Graph& g = halves.backward->state().graph;
  const size_t wanted = g.placeholders().size() - halves.kept;
  const auto type_of = [&](size_t k) -> const Type& {
    return g.type(g.placeholders()[halves.kept + k].value);
  };
  HostTensors out;
  if (given.empty() && wanted == 1 && type_of(0).is_static() &&
      numel_of(static_shape(type_of(0))) == 1) {
    out.emplace_back(type_of(0).dtype, static_shape(type_of(0))).set_number(0, 1);
    return out;
  }
  if (given.size() != wanted)
    throw_failure(
        user_error("aot_function: backward got {} cotangents, expected {}: one for each "
                   "floating result",
                   given.size(), wanted));
  for (size_t k = 0; k < wanted; ++k) {
    const Type& type = type_of(k);
    const HostTensor& t = given[k].tensor();
    if (t.dtype() != type.dtype || (type.is_static() && t.shape() != static_shape(type)))
      throw_failure(user_error("aot_function: cotangent {}: got {}, expected {}", k, t.type_text(),
                               type.text()));
    HostTensor& laid = type.is_static() && type.strides
                           ? out.emplace_back(type.dtype, static_shape(type), strides_of(type))
                           : out.emplace_back(type.dtype, t.shape());
    laid.copy_from(t);
  }
  return out;
}

AotGradients AotFunction::State::backward(std::span<const InputRef> cotangents) {
  const std::lock_guard lock(mutex);
  if (!last->backward)
    throw_failure(
        user_error("aot_function: nothing wants a gradient: AotOptions::wants_grad names the "
                   "inputs that do"));
  if (!kept)
    throw_failure(
        user_error("aot_function: backward needs a forward before it, and takes what that kept"));
  if (versions != source->versions())
    throw_failure(user_error("aot_function: a parameter was written between forward and backward"));
  HostTensors given = cotangents_of(*last, cotangents);
  given.insert(given.begin(), std::make_move_iterator(kept->begin()),
               std::make_move_iterator(kept->end()));
  kept.reset();
  if (!last->run_backward)
    last->run_backward =
        compiled(options.backward ? options.backward : options.forward, *last->backward, given);
  HostTensors results = last->run_backward(std::move(given));
  value_or_throw(check_results(last->backward->state().graph, results, what_of(*last->backward)));
  return gradients_of(*last, std::move(results));
}

AotGradients AotFunction::State::gradients_of(const Halves& halves, HostTensors&& results) const {
  const Graph& joint = halves.joint.state().graph;
  std::map<std::string, HostTensor*> by_name;
  size_t k = 0;
  for (const Return& r : joint.returns())
    if (r.kind == ReturnKind::grad) by_name[joint.name(r.target)] = &results[k++];
  AotGradients out;
  for (const std::string& name : source->wanted_inputs()) {
    out.inputs.push_back(std::move(*by_name.at(name)));
    by_name.erase(name);
  }
  for (const Placeholder& p : joint.placeholders())
    if (const auto at = by_name.find(joint.name(p.value)); at != by_name.end())
      out.parameters.emplace_back(at->first, std::move(*at->second));
  return out;
}

namespace {

AotFunction made(std::unique_ptr<AotSource> source, const AotOptions& options) {
  auto state = std::make_shared<AotFunction::State>(std::move(source), options);
  state->last = state->halves_for(state->source->first_sizes());
  return AotFunction(std::move(state));
}

void check_options(const AotOptions& options, Location at) {
  if (!options.forward) trace::refuse(at, "aot_function: the forward has no compiler");
  if (options.kept_sizes < 1)
    trace::refuse(at, "aot_function: kept_sizes is {}, expected 1 or more", options.kept_sizes);
}

}  // namespace

AotFunction aot_function(const TracedFunction& function, const std::vector<InputSpec>& inputs,
                         const AotOptions& options, Location at) {
  check_options(options, at);
  return made(traced_source(std::nullopt, function, inputs, options, at), options);
}

AotFunction aot_module(const nn::Module& model, const TracedFunction& function,
                       const std::vector<InputSpec>& inputs, const AotOptions& options,
                       Location at) {
  check_options(options, at);
  return made(traced_source(model, function, inputs, options, at), options);
}

AotFunction aot_function(const TracedGraph& graph, const AotOptions& options, Location at) {
  check_options(options, at);
  return made(graph_source(graph, options), options);
}

AotFunction::State& AotFunction::state() const {
  if (!state_) throw_failure(user_error("AotFunction: it is empty; aot_function() makes one"));
  return *state_;
}

HostTensors AotFunction::forward(std::span<const InputRef> inputs) {
  return state().forward(inputs);
}
AotGradients AotFunction::backward(std::span<const InputRef> cotangents) {
  return state().backward(cotangents);
}
TracedGraph AotFunction::joint_graph() const { return state().last->joint; }
TracedGraph AotFunction::forward_graph() const { return state().last->forward; }
TracedGraph AotFunction::backward_graph() const {
  if (!state().last->backward)
    throw_failure(user_error("aot_function: nothing wants a gradient: there is no backward"));
  return *state().last->backward;
}

AotOptions memory_efficient_fusion() {
  return {.forward = script(),
          .partition = Partitioner::pytorch(),
          .decompositions = Decompositions::defaults()};
}

AotOptions nnc_jit() { return {.forward = simple_script()}; }

}  // namespace cleave
