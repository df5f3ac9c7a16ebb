#include "test/sample/both_engines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cleave/executor.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "interp/array_memory.h"
#include "ir/strides.h"
#include "test/sample/run_program.h"

namespace cleave::test {

Array counting(DType t, std::vector<int64_t> shape) {
  Array a(t, std::move(shape));
  for (int64_t k = 0; k < a.numel(); ++k) a.set_int(k, k);
  return a;
}

Array scattered(DType t, std::vector<int64_t> shape, uint32_t seed) {
  Array a(t, std::move(shape));
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t k = 0; k < a.numel(); ++k) {
    state = state * 1664525 + 1013904223;
    a.set(k, round_to(t, (state >> 8) * 0x1p-23 - 1));
  }
  return a;
}

Result<Arrays> by_reference(const std::string& text, const Inputs& inputs) {
  return interpret(parsed(text), inputs);
}

namespace {

Status run_compiled(const Graph& g, const Inputs& inputs, int threads, CompilerChoice compiler,
                    CompiledRun& out, std::shared_ptr<Backend> backend = nullptr) {
  StageOptions options;
  options.compiler = compiler;
  options.backend = std::move(backend);
  options.executor = make_thread_pool(threads);
  CLEAVE_TRY(auto program, CompiledProgram::compile(g, core(), options));
  CLEAVE_TRY(auto instance, Instance::make(program, options.executor));
  Arrays arrays;
  for (const Placeholder& p : g.placeholders()) arrays.push_back(inputs.at(g.name(p.value)));
  CLEAVE_TRY(const law::Memory memory, law::bind_inputs(*instance, g, arrays));
  Status status = instance->run();
  for (size_t i = 0; i < memory.size(); ++i) {
    const ValueId v = g.placeholders()[i].value;
    out.memory[g.name(v)] = from_memory(g.type(v), memory[i].data());
  }
  CLEAVE_CHECK(std::move(status));
  for (size_t k = 0; k < g.returns().size(); ++k)
    out.results.push_back(from_memory(returned_type(g, k), instance->result(k)));
  const std::string stray = law::stray_write(g, arrays, memory);
  return stray.empty() ? Status() : bug("{}", stray);
}

bool same_bits(const Array& a, const Array& b) {
  return a.i == b.i && a.f.size() == b.f.size() &&
         (a.f.empty() || std::memcmp(a.f.data(), b.f.data(), a.f.size() * sizeof(double)) == 0);
}

void expect_near(const Array& got, const Array& want, double tolerance) {
  ASSERT_EQ(got.dtype, want.dtype);
  ASSERT_EQ(got.shape, want.shape);
  EXPECT_EQ(got.i, want.i);
  for (size_t k = 0; k < want.f.size(); ++k) {
    if (std::isnan(want.f[k]))
      EXPECT_TRUE(std::isnan(got.f[k])) << "element " << k;
    else
      EXPECT_NEAR(got.f[k], want.f[k], tolerance) << "element " << k;
  }
}

}  // namespace

CompiledRun by_compiled(const std::string& text, const Inputs& inputs, int threads) {
  CompiledRun out;
  out.status = run_compiled(parsed(text), inputs, threads, CompilerChoice::automatic, out);
  return out;
}

CompiledRun by_bytecode(const std::string& text, const Inputs& inputs) {
  CompiledRun out;
  out.status = run_compiled(parsed(text), inputs, 2, CompilerChoice::none, out);
  return out;
}

std::shared_ptr<Backend> backend_with_choices(const LowerChoices& choices,
                                              CompilerChoice compiler) {
  CompileOptions options;
  options.compiler = compiler;
  return std::make_shared<BackendWithChoices>(backend_for(options), choices);
}

CompiledRun by_choices(const std::string& text, const Inputs& inputs, const LowerChoices& choices,
                       CompilerChoice compiler, int threads) {
  CompiledRun out;
  out.status = run_compiled(parsed(text), inputs, threads, compiler, out,
                            backend_with_choices(choices, compiler));
  return out;
}

Arrays by_both(const std::string& text, const Inputs& inputs, double tolerance) {
  const Arrays want = value_or_throw(by_reference(text, inputs));
  const CompiledRun two = by_compiled(text, inputs, 2), one = by_compiled(text, inputs, 1);
  if (!two.status.ok() || !one.status.ok()) {
    ADD_FAILURE() << (two.status.ok() ? one : two).status.failure().message;
    return want;
  }
  for (size_t k = 0; k < want.size(); ++k) {
    expect_near(two.results[k], want[k], tolerance);
    EXPECT_TRUE(same_bits(one.results[k], two.results[k]))
        << "result " << k << " depends on threads";
  }
  const CompiledRun bytecode = by_bytecode(text, inputs);
  for (size_t k = 0; k < bytecode.results.size(); ++k)
    EXPECT_TRUE(same_bits(bytecode.results[k], two.results[k])) << "result " << k << " as bytecode";
  return two.results;
}

std::string reference_error(const std::string& text, const Inputs& inputs) {
  const auto r = by_reference(text, inputs);
  return r.ok() ? "no error" : r.failure().message;
}

std::string compiled_error(const std::string& text, const Inputs& inputs) {
  const auto said = [](const CompiledRun& r) {
    return r.status.ok() ? "no error" : r.status.failure().message;
  };
  const std::string message = said(by_compiled(text, inputs));
  EXPECT_EQ(said(by_bytecode(text, inputs)), message);
  return message;
}

}  // namespace cleave::test
