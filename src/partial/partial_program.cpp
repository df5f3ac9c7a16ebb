// A graph in parts, and their runs.
#include <algorithm>
#include <chrono>
#include <mutex>

#include "cleave/partial.h"
#include "compilers/compilers.h"
#include "exec/recently_used.h"
#include "interp/interpret.h"
#include "ir/subgraph.h"
#include "ir/text.h"
#include "partial/regions.h"
#include "partial/supported.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

constexpr size_t kept_sizes = 32;

std::string text_of(const LoweredRegion& region) {
  return fmt::format("region `{}` @{}", region.tag, region.graph);
}

// What a backend of the host program threw.
Failure failure_of(const std::exception& e) {
  const auto* own = dynamic_cast<const Error*>(&e);
  return {own != nullptr ? own->kind() : ErrorKind::user, e.what()};
}

int64_t counted_calls(const Graph& g) {
  int64_t calls = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (!has(g.node(n).op->traits, Trait::view)) ++calls;
  return calls;
}

}  // namespace

struct PartialProgram::State {
  State(const TracedGraph& graph, PartialOptions given);

  HostTensors run(HostTensors&& inputs);

  const PartialOptions options;
  const Operators ops;
  Graph graph;
  TracedGraph traced;
  std::vector<LoweredRegion> regions;
  std::vector<OutsideCall> outside;
  std::mutex mutex;  // of what follows, and of the times of regions and outside

 private:
  void lower(const Graph& g);
  // Why a call stays outside; empty: it may go in.
  std::string reason_of(const Graph& g, NodeId n, const std::vector<GraphCall>& calls,
                        size_t at) const;
  void log(const std::string& text) const {
    if (options.log) options.log(LogLevel::info, text);
  }
  // The lowered graph for the sizes of one run, and its calls in the order of `graph`.
  struct Sized {
    Graph graph;
    std::vector<NodeId> order;
  };
  std::shared_ptr<const Sized> sized(const HostTensors& inputs);
  HostTensors operands_of(NodeId n, std::vector<std::optional<HostTensor>>& values) const;
  HostTensors run_region(size_t k, HostTensors&& operands);
  HostTensors run_outside(const Graph& at_sizes, NodeId n, size_t k, HostTensors&& operands) const;
  HostTensors by_rules(const Graph& at_sizes, NodeId n, const HostTensors& operands) const;

  std::vector<int32_t> region_of_;   // by node
  std::vector<int32_t> outside_of_;  // by node
  std::vector<TracedGraph> parts_;   // by region
  std::vector<GraphCallable> compiled_;
  std::vector<GraphCall> calls_;     // by number of the outside call
  std::vector<NodeId> last_reader_;  // by value; invalid: it is returned, or isn't read
  RecentlyUsed<std::shared_ptr<const Sized>> sized_{kept_sizes};
  SymbolValues symbols_;  // of the inputs that run
};

PartialProgram::State::State(const TracedGraph& given, PartialOptions chosen)
    : options(std::move(chosen)), ops(given.state().ops), traced(given) {
  if (options.least_calls < 1)
    throw_failure(
        user_error("partial_lower: least_calls is {}, expected 1 or more", options.least_calls));
  require_compiler(options.backend, "partial_lower");
  lower(given.state().graph);
  traced = traced_graph(graph, ops);
}

std::string PartialProgram::State::reason_of(const Graph& g, NodeId n,
                                             const std::vector<GraphCall>& calls, size_t at) const {
  if (auto why = reason_outside(g, n, options.device)) return *why;
  if (options.node && !options.node(calls[at])) return "user predicate";
  return "";
}

void PartialProgram::State::lower(const Graph& g) {
  // Calls are made for the host program's functions alone: a million of them take their time.
  const bool asks = options.node || !options.functions.empty();
  const std::vector<GraphCall> calls = asks ? traced.calls() : std::vector<GraphCall>();
  std::vector<std::string> reasons(g.node_capacity());
  std::vector<bool> goes_in(g.node_capacity());
  bool is_run = false;
  size_t at = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n), ++at) {
    reasons[n.v] = reason_of(g, n, calls, at);
    goes_in[n.v] = reasons[n.v].empty();
    if (!goes_in[n.v] && is_run && options.log)
      log(fmt::format("partial_lower: graph break at %{}. Reason: {}", g.name(g.node(n).out(0)),
                      reasons[n.v]));
    is_run = goes_in[n.v];
  }
  std::map<std::string, std::string> refused;  // by the first result of a call that goes out again
  const TagOf tag_of = [&](const Graph& part) -> std::optional<std::string> {
    const int64_t count = counted_calls(part);
    const auto refuse = [&](const std::string& why) -> std::optional<std::string> {
      for (NodeId n = part.first_node(); n.valid(); n = part.next_node(n))
        refused[part.name(part.node(n).out(0))] = why;
      return std::nullopt;
    };
    if (count < options.least_calls)
      return refuse(fmt::format("a region of {} calls, fewer than {}", count, options.least_calls));
    const TracedGraph region = traced_graph(part, ops);
    if (options.region && !options.region(region)) return refuse("region predicate");
    const std::string tag = options.dumper ? options.dumper(region.text()) : "subgraph";
    if (tag.empty())
      throw_failure(user_error("partial_lower: the tag of @{} is empty", part.name()));
    parts_.push_back(region);
    regions.push_back({.tag = tag, .graph = part.name(), .calls = count});
    return tag;
  };
  Lowered lowered = value_or_throw(
      take_regions(g, ops.registry(), group_calls(g, goes_in, options.grouping), tag_of));
  graph = std::move(lowered.graph);
  region_of_ = std::move(lowered.region_of);
  compiled_.resize(regions.size());
  outside_of_.assign(graph.node_capacity(), -1);
  last_reader_.resize(graph.value_capacity());
  const bool runs_calls = !options.functions.empty();
  const std::vector<GraphCall> left =
      runs_calls ? traced_graph(graph, ops).calls() : std::vector<GraphCall>();
  at = 0;
  for (NodeId n = graph.first_node(); n.valid(); n = graph.next_node(n), ++at) {
    const Node& node = graph.node(n);
    for (const ValueId v : node.inputs)
      if (v.valid()) last_reader_[v.v] = n;
    if (region_of_[n.v] >= 0) continue;
    outside_of_[n.v] = static_cast<int32_t>(outside.size());
    const std::string& name = graph.name(node.out(0));
    const ValueId old = g.find(name);
    std::string reason = old.valid() ? reasons[g.value(old).def.v] : "";
    if (const auto why = refused.find(name); reason.empty() && why != refused.end())
      reason = why->second;
    if (reason.empty()) reason = "nothing reads its region";
    outside.push_back({name, node.op->name, std::move(reason)});
    calls_.push_back(runs_calls ? left[at] : GraphCall());
  }
  for (const Return& r : graph.returns()) last_reader_[r.value.v] = {};
}

std::shared_ptr<const PartialProgram::State::Sized> PartialProgram::State::sized(
    const HostTensors& inputs) {
  symbols_ = value_or_throw(symbols_of(graph, inputs));
  std::vector<int64_t> sizes;
  for (const auto& [name, value] : symbols_) sizes.push_back(value);
  if (const auto* known = sized_.find(sizes)) return *known;
  auto made = std::make_shared<Sized>();
  made->graph = is_static(graph) ? graph : value_or_throw(specialize(graph, symbols_));
  made->order = made->graph.order();
  sized_.add(sizes, made);
  return made;
}

HostTensors PartialProgram::State::run_region(size_t k, HostTensors&& operands) {
  LoweredRegion& region = regions[k];
  const Graph& part = parts_[k].state().graph;
  HostTensors in;
  size_t next = 0;
  for (const Placeholder& p : part.placeholders()) {
    if (p.role != Role::symint)
      in.push_back(std::move(operands[next++]));
    else
      *in.emplace_back(DType::i64, std::vector<int64_t>{}).data<int64_t>() =
          symbols_.at(part.name(p.value));
  }
  if (!compiled_[k] && region.failure.empty()) {
    const auto begin = Clock::now();
    try {
      compiled_[k] = options.backend(parts_[k], in);
      if (!compiled_[k]) throw_failure(user_error("the backend returned no callable"));
    } catch (const std::exception& e) {
      if (options.on_failure == OnFailure::error)
        throw_failure(failure_of(e).within(text_of(region)));
      region.failure = e.what();
    }
    region.compile_ms += ms_since(begin);
    log(fmt::format("partial_lower: {}: {} calls, {}", text_of(region), region.calls,
                    region.failure.empty() ? fmt::format("compiled in {:.1f} ms", region.compile_ms)
                                           : "runs outside: " + region.failure));
  }
  const auto begin = Clock::now();
  HostTensors out;
  if (region.failure.empty()) {
    try {
      out = compiled_[k](std::move(in));
    } catch (const std::exception& e) { throw_failure(failure_of(e).within(text_of(region))); }
  } else {
    out = nop()(parts_[k], in)(std::move(in));
  }
  value_or_throw(check_results(part, out, text_of(region) + ": its callable"));
  region.run_ms = ms_since(begin);
  ++region.runs;
  if (options.span) options.span(region.tag, region.run_ms);
  return out;
}

HostTensors PartialProgram::State::by_rules(const Graph& at_sizes, NodeId n,
                                            const HostTensors& operands) const {
  const Node& node = at_sizes.node(n);
  if (!node.op->reference.present())
    throw_failure(
        unsupported("partial_lower: %{}: {} has no reference rule: {}; "
                    "PartialOptions::functions may give one",
                    at_sizes.name(node.out(0)), node.op->name, node.op->reference.reason()));
  Arrays arrays;
  for (const HostTensor& t : operands) arrays.push_back(array_of(t));
  std::vector<const Array*> in;
  size_t next = 0;
  for (const ValueId v : node.inputs) in.push_back(v.valid() ? &arrays[next++] : nullptr);
  const Arrays results = value_or_throw(run_node(at_sizes, n, in));
  HostTensors out;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const Type& type = at_sizes.type(node.out(k));
    out.push_back(type.is_none ? HostTensor() : tensor_of(results[k], type));
  }
  return out;
}

HostTensors PartialProgram::State::run_outside(const Graph& at_sizes, NodeId n, size_t k,
                                               HostTensors&& operands) const {
  const Node& node = at_sizes.node(n);
  const auto own = options.functions.find(node.op->name);
  if (own == options.functions.end()) return by_rules(at_sizes, n, operands);
  HostTensors out = own->second(calls_[k], operands);
  if (out.size() != node.output_count)
    throw_failure(
        user_error("partial_lower: %{}: the function for {} returned {} tensors, "
                   "expected {}",
                   at_sizes.name(node.out(0)), node.op->name, out.size(), node.output_count));
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const Type& type = at_sizes.type(node.out(k));
    if (!type.is_none && (out[k].dtype() != type.dtype || out[k].shape() != static_shape(type)))
      throw_failure(user_error("partial_lower: %{}: the function for {} returned {}, expected {}",
                               at_sizes.name(node.out(k)), node.op->name, out[k].type_text(),
                               type.text()));
  }
  return out;
}

// What nothing reads later is handed over, the rest lent.
HostTensors PartialProgram::State::operands_of(
    NodeId n, std::vector<std::optional<HostTensor>>& values) const {
  const std::vector<ValueId>& in = graph.node(n).inputs;
  HostTensors out;
  for (size_t i = 0; i < in.size(); ++i) {
    const ValueId v = in[i];
    if (!v.valid()) continue;
    const bool again =
        std::find(in.begin() + static_cast<std::ptrdiff_t>(i) + 1, in.end(), v) != in.end();
    if (last_reader_[v.v] == n && !again)
      out.push_back(*std::exchange(values[v.v], std::nullopt));
    else
      out.push_back(borrowed(*values[v.v]));
  }
  return out;
}

HostTensors PartialProgram::State::run(HostTensors&& inputs) {
  const std::lock_guard lock(mutex);
  const std::shared_ptr<const Sized> at_sizes = sized(inputs);
  std::vector<std::optional<HostTensor>> values(graph.value_capacity());
  for (size_t k = 0; k < inputs.size(); ++k)
    values[graph.placeholders()[k].value.v] = std::move(inputs[k]);
  inputs.clear();
  size_t at = 0;
  for (NodeId n = graph.first_node(); n.valid(); n = graph.next_node(n), ++at) {
    const Node& node = graph.node(n);
    HostTensors operands = operands_of(n, values);
    HostTensors results;
    if (const int32_t region = region_of_[n.v]; region >= 0) {
      results = run_region(static_cast<size_t>(region), std::move(operands));
    } else {
      const auto k = static_cast<size_t>(outside_of_[n.v]);
      const auto begin = Clock::now();
      results = run_outside(at_sizes->graph, at_sizes->order[at], k, std::move(operands));
      outside[k].run_ms = ms_since(begin);
    }
    for (uint32_t r = 0; r < node.output_count; ++r) values[node.out(r).v] = std::move(results[r]);
  }
  HostTensors out;
  for (const Return& r : graph.returns()) out.push_back(*values[r.value.v]);
  return out;
}

PartialProgram partial_lower(const TracedGraph& graph, const PartialOptions& options) {
  return PartialProgram(std::make_shared<PartialProgram::State>(graph, options));
}

GraphCompiler partial(PartialOptions options) {
  return [options = std::move(options)](const TracedGraph& graph, const HostTensors&) {
    PartialProgram program = partial_lower(graph, options);
    return [program](HostTensors&& in) mutable { return program.run(std::move(in)); };
  };
}

TracedGraph PartialProgram::graph() const { return state_->traced; }

HostTensors PartialProgram::run(HostTensors&& inputs) { return state_->run(std::move(inputs)); }

std::vector<LoweredRegion> PartialProgram::regions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->regions;
}

std::vector<OutsideCall> PartialProgram::outside() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outside;
}

std::string PartialProgram::coverage() const {
  int64_t inside = 0;
  std::string out;
  for (const LoweredRegion& r : regions()) {
    inside += r.calls;
    out += fmt::format("{:>8} calls  compile {:9.3f} ms  run {:9.3f} ms  {}{}\n", r.calls,
                       r.compile_ms, r.run_ms, text_of(r),
                       r.failure.empty() ? "" : "  runs outside: " + r.failure);
  }
  const std::vector<OutsideCall> left = outside();
  for (const OutsideCall& c : left)
    out += fmt::format("       1 call                        run {:9.3f} ms  %{} = {}: {}\n",
                       c.run_ms, c.name, c.op, c.reason);
  const auto all = inside + static_cast<int64_t>(left.size());
  return fmt::format(
             "{} of {} calls in {} regions ({:.1f} %)\n", inside, all, state_->regions.size(),
             all == 0 ? 100.0 : 100.0 * static_cast<double>(inside) / static_cast<double>(all)) +
         out;
}

}  // namespace cleave
