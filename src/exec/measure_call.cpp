#include "exec/measure_call.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/result.h"
#include "exec/executable.h"
#include "interp/array_memory.h"
#include "ir/specialize.h"
#include "ir/strides.h"
#include "ir/text.h"
#include "lower/program.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

struct Released {
  void operator()(std::byte* p) const {
    ::operator delete[](p, std::align_val_t(storage_alignment));
  }
};
using Memory = std::unique_ptr<std::byte[], Released>;

// Replaces the symbols in types and attributes by their hints.
Result<Graph> at_hints(const Graph& alone) {
  SymbolValues values;
  for (const Placeholder& p : alone.placeholders())
    if (p.role == Role::symint)
      values[alone.name(p.value)] = alone.env().hint_of(Dim::symbol(alone.name(p.value)));
  return specialize(alone, values);
}

// The call with a placeholder for each value that it reads, and all symbols of the graph.
Result<Graph> alone_graph(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  Graph out("call");
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) continue;
    CLEAVE_CHECK(out.add_placeholder(p.role, g.name(p.value), {}, false, p.sym));
  }
  NodeSpec spec{.op = node.op, .inputs = {}, .list_size = node.list_size, .attrs = node.attrs};
  std::map<ValueId, ValueId> made;
  for (const ValueId in : node.inputs) {
    if (!in.valid()) {
      spec.inputs.push_back(in);
      continue;
    }
    if (!made.contains(in)) {
      const ValueId known = out.find(g.name(in));
      if (known.valid()) {
        made[in] = known;
      } else {
        const Placeholder* p = g.placeholder_of(in);
        const Role role = p && p->role == Role::rng_state ? Role::rng_state : Role::input;
        CLEAVE_TRY(made[in],
                   out.add_placeholder(role, fmt::format("in{}", made.size()), g.type(in)));
      }
    }
    spec.inputs.push_back(made[in]);
  }
  CLEAVE_TRY(const NodeId call, out.add_node(std::move(spec)));
  for (uint32_t k = 0; k < out.node(call).output_count; ++k)
    if (!out.type(out.node(call).out(k)).is_none) out.add_return({out.node(call).out(k)});
  return at_hints(out);
}

// The value range of this flat floating operand in the first of the operator's samples that has it.
std::pair<double, double> range_of(const OpDef& op, size_t operand) {
  for (const Sample& s : op.samples()) {
    size_t at = 0;
    for (const SampleOperand& o : s.operands)
      for (const SampleTensor& t : o.tensors) {
        if (at++ != operand || !is_floating(t.type.dtype)) continue;
        return {t.lo, t.hi};
      }
  }
  return {-2, 2};
}

// Pseudo-random numbers in the range, always the same; integers are 0, booleans alternate.
Array contents(const Type& t, std::pair<double, double> range) {
  Array a(t.dtype, static_shape(t));
  uint32_t bits = 12345;
  for (int64_t k = 0; k < a.numel(); ++k) {
    bits = bits * 1664525 + 1013904223;
    if (a.floating())
      a.set(k,
            round_to(t.dtype, range.first + (range.second - range.first) * (bits >> 8) * 0x1p-24));
    else if (t.dtype == DType::boolean)
      a.set_int(k, k & 1);
  }
  return a;
}

}  // namespace

Result<int64_t> CallTimer::measure(const Graph& g, NodeId n) {
  if (has(g.node(n).op->traits, Trait::view)) return 0;
  CLEAVE_TRY(const Graph alone, alone_graph(g, n));
  const std::string text = print(alone);
  if (const auto found = known_.find(text); found != known_.end()) return found->second;
  CLEAVE_TRY(const int64_t ns, run_alone(alone));
  return known_[text] = std::max<int64_t>(1, ns);
}

Result<int64_t> CallTimer::run_alone(const Graph& alone) {
  StageOptions options;
  options.passes_off = {"all"};  // this call and no other
  CLEAVE_TRY(options.executor, runtime::shared_threads(options_.threads));
  options.target = options_.target;
  CLEAVE_TRY(auto program, CompiledProgram::compile(alone, ops_, options));
  CLEAVE_TRY(auto instance, Instance::make(program, options.executor));
  const OpDef& op = *alone.node(alone.first_node()).op;
  std::vector<Memory> memory;
  size_t operand = 0;
  for (size_t i = 0; i < alone.placeholders().size(); ++i) {
    const Placeholder& p = alone.placeholders()[i];
    const bool symint = p.role == Role::symint;
    const Type& type = alone.type(p.value);
    Array a = contents(type, symint ? std::pair{0.0, 0.0} : range_of(op, operand++));
    if (symint) a.set_int(0, p.sym.range.lo);
    const int64_t bytes = std::max<int64_t>(memory_bytes(type), 1);
    memory.emplace_back(new (std::align_val_t(storage_alignment))
                            std::byte[static_cast<size_t>(bytes)]);
    to_memory(a, type, memory.back().get());
    CLEAVE_CHECK(instance->bind(i, {memory.back().get(), bytes, type.dtype}));
  }
  std::vector<int64_t> times;
  int64_t sum = 0;
  constexpr size_t most = 1000;
  CLEAVE_CHECK(instance->run());  // warm
  while (std::ssize(times) < options_.runs || (sum < options_.enough_ns && times.size() < most)) {
    const auto begin = std::chrono::steady_clock::now();
    CLEAVE_CHECK(instance->run());
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
    times.push_back(ns);
    sum += ns;
  }
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace cleave
