#include "test/sample/run_program.h"

#include "cleave/executor.h"
#include "interp/array_memory.h"
#include "ir/strides.h"

namespace cleave::law {
namespace {

constexpr std::byte gap{0xff};

const Type& type_of(const Graph& g, size_t placeholder) {
  return g.type(g.placeholders()[placeholder].value);
}

std::vector<std::byte> placed(const Array& a, const Type& t) {
  std::vector<std::byte> out(static_cast<size_t>(memory_bytes(t)) + 64, gap);
  to_memory(a, t, out.data());
  return out;
}

}  // namespace

Result<Memory> bind_inputs(Instance& instance, const Graph& g, const Arrays& inputs) {
  Memory bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bound.push_back(placed(inputs[i], type_of(g, i)));
    CLEAVE_CHECK(instance.bind(i, std::span(bound.back())));
  }
  return bound;
}

std::string stray_write(const Graph& g, const Arrays& inputs, const Memory& after) {
  for (size_t i = 0; i < after.size(); ++i) {
    const ValueId v = g.placeholders()[i].value;
    const bool updated = std::ranges::any_of(g.returns(), [&](const Return& r) {
      return r.kind == ReturnKind::update && r.target == v;
    });
    const Array now = updated ? from_memory(g.type(v), after[i].data()) : inputs[i];
    if (placed(now, g.type(v)) != after[i])
      return fmt::format("%{}: {} is written outside its elements, or without an update", g.name(v),
                         g.type(v).text());
  }
  return "";
}

std::vector<std::byte> result_bytes(const Instance& instance, const Graph& g, size_t k) {
  const Type& t = returned_type(g, k);
  const auto* data = static_cast<const std::byte*>(instance.result(k));
  if (!is_row_major(t)) return to_memory(from_memory(t, data));
  return {data, data + memory_bytes(t)};
}

Result<Memory> run_program(std::shared_ptr<const CompiledProgram> program, const Arrays& inputs,
                           int threads) {
  CLEAVE_TRY(auto instance, Instance::make(program, make_thread_pool(threads)));
  const Graph& g = program->graph();
  CLEAVE_TRY(const Memory bound, bind_inputs(*instance, g, inputs));
  CLEAVE_CHECK(instance->run());
  Memory out;
  for (size_t k = 0; k < g.returns().size(); ++k) out.push_back(result_bytes(*instance, g, k));
  if (const std::string stray = stray_write(g, inputs, bound); !stray.empty())
    return bug("{}", stray);
  return out;
}

Arrays result_arrays(const Graph& g, const Memory& results) {
  Arrays out;
  for (size_t k = 0; k < g.returns().size(); ++k) {
    const Type& t = g.type(g.returns()[k].value);
    out.push_back(from_memory(t.dtype, static_shape(t), results[k].data()));
  }
  return out;
}

Result<Arrays> run_graph(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                         const StageOptions& options, int threads) {
  CLEAVE_TRY(auto program, CompiledProgram::compile(g, ops, options));
  CLEAVE_TRY(const Memory memory, run_program(program, inputs, threads));
  return result_arrays(g, memory);
}

Result<Arrays> run_graph(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                         CompilerChoice compiler, int threads, bool fuse, const Target& target) {
  StageOptions options;
  options.target = target;
  options.fuse = fuse;
  options.compiler = compiler;
  options.executor = make_thread_pool(threads);
  return run_graph(g, ops, inputs, options, threads);
}

}  // namespace cleave::law
