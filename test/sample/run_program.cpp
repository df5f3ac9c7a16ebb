#include "test/sample/run_program.h"

#include "cleave/executor.h"
#include "interp/array_memory.h"

namespace cleave::law {

Result<Memory> run_program(std::shared_ptr<const CompiledProgram> program, const Arrays& inputs,
                           int threads) {
  CLEAVE_TRY(auto instance, Instance::make(program, make_thread_pool(threads)));
  Memory bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bound.push_back(to_memory(inputs[i]));
    bound.back().resize(bound.back().size() + 64);  // an empty tensor has an address too
    CLEAVE_CHECK(instance->bind(i, bound.back().data()));
  }
  CLEAVE_CHECK(instance->run());
  Memory out;
  const auto& returns = program->graph().returns();
  for (size_t k = 0; k < returns.size(); ++k) {
    const Type& t = program->graph().type(returns[k].value);
    const auto* data = static_cast<const std::byte*>(instance->result(k));
    const int64_t bytes = numel_of(static_shape(t)) * size_of(t.dtype);
    out.emplace_back(data, data + bytes);
  }
  return out;
}

Result<Arrays> run_graph(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                         runtime::CompilerKind compiler, int threads, bool fuse,
                         const Target& target) {
  CompileOptions options;
  options.target = target;
  options.fuse = fuse;
  options.compiler = compiler;
  options.executor = make_thread_pool(threads);
  CLEAVE_TRY(auto program, CompiledProgram::compile(g, ops, options));
  CLEAVE_TRY(const Memory memory, run_program(program, inputs, threads));
  Arrays out;
  for (size_t k = 0; k < g.returns().size(); ++k) {
    const Type& t = g.type(g.returns()[k].value);
    out.push_back(from_memory(t.dtype, static_shape(t), memory[k].data()));
  }
  return out;
}

}  // namespace cleave::law
