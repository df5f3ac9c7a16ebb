// Libraries of graphs: strides, updates, loops, roles, targets; results as an instance gives them.
#include <gtest/gtest.h>

#include "ahead/build_library.h"
#include "base/target.h"
#include "exec/executable.h"
#include "ir/specialize.h"
#include "ir/strides.h"
#include "ir/text.h"
#include "op/registry.h"
#include "standalone/cpu_features.h"
#include "test/ahead/library.h"
#include "test/targets.h"

namespace cleave {
namespace {

const OpRegistry& registry() {
  static const OpRegistry ops = value_or_throw(core_ops());
  return ops;
}

HostTensor tensor_of(const Type& t, uint64_t seed) {
  HostTensor out(t.dtype, static_shape(t), strides_of(t));
  for (int64_t k = 0; k < out.numel(); ++k)
    out.set_number(k, static_cast<double>((seed + static_cast<uint64_t>(k) * 7) % 13) - 6);
  return out;
}

// A graph's placeholders: inputs, and state with values.
struct Built {
  explicit Built(const std::string& text, const Target& target = Target::here()) {
    source.ops = &registry();
    source.options.target = target;
    source.sized.push_back({{}, {value_or_throw(parse(text, "test", registry())).main, {}}});
    ahead::Source::Program& program = source.sized[0].step;
    const Graph& g = program.graph;
    for (const Placeholder& p : g.placeholders()) {
      const std::string& name = g.name(p.value);
      const HostTensor value = tensor_of(g.type(p.value), name[0]);
      values.push_back(value);
      if (p.role == Role::input) {
        source.inputs.push_back(name);
        program.inputs.push_back(name);
        inputs.push_back(value);
      } else {
        program.state[name] = source.state.size();
        source.state.push_back({name, std::string(name_of(p.role)),
                                p.role == Role::constant ? standalone::StateKind::constant
                                                         : standalone::StateKind::state,
                                value});
      }
    }
    for (size_t k = 0; k < g.returns().size(); ++k)
      if (g.returns()[k].kind != ReturnKind::update) {
        program.outputs.emplace_back(k);
        source.outputs.push_back("out." + std::to_string(k));
      }
  }
  HostTensors outputs() const {
    HostTensors out;
    for (const auto& result : source.sized[0].step.outputs) {
      const Type& t = returned_type(graph(), *result);
      out.emplace_back(t.dtype, static_shape(t), strides_of(t));
    }
    return out;
  }

  const Graph& graph() const { return source.sized[0].step.graph; }

  ahead::Source source;
  HostTensors values, inputs;  // of all placeholders; of inputs
};

// Runs a library and an instance twice, and compares what they return and leave.
void compare(const std::string& text, WeightPlace weights = WeightPlace::inside,
             const Target& target = Target::here()) {
  Built b(text, target);
  const Folder folder;
  const BuiltLibrary built =
      value_or_throw(ahead::build_library(b.source, folder / "g.so", {.weights = weights}));
  Library library(built.path, "g");
  Opened run(library);
  auto program = value_or_throw(CompiledProgram::compile(b.graph(), registry(), b.source.options));
  auto instance = value_or_throw(Instance::make(program, nullptr));
  HostTensors mine = b.values;
  for (size_t k = 0; k < mine.size(); ++k)
    value_or_throw(instance->bind(k, {mine[k].data(), mine[k].extent_bytes(), mine[k].dtype()}));
  for (int i = 0; i < 2; ++i) {
    value_or_throw(instance->run());
    HostTensors out = b.outputs();
    ASSERT_EQ(run.run(b.inputs, out), CLEAVE_DONE) << run.message();
    for (size_t k = 0; k < out.size(); ++k) {
      const size_t result = *b.source.sized[0].step.outputs[k];
      const Type& t = returned_type(b.graph(), result);
      const HostTensor expected = HostTensor::borrow(t.dtype, static_shape(t), strides_of(t),
                                                     const_cast<void*>(instance->result(result)));
      EXPECT_TRUE(out[k].same_bits(expected)) << "run " << i << " out " << k;
    }
  }
  size_t input = 0;
  for (size_t k = 0; k < mine.size(); ++k) {
    const Placeholder& p = b.graph().placeholders()[k];
    if (p.role == Role::input) {
      EXPECT_TRUE(b.inputs[input++].same_bits(mine[k])) << k;
      continue;
    }
    HostTensor got(mine[k].dtype(), mine[k].shape());
    ASSERT_EQ(run.get_state(b.graph().name(p.value), got), CLEAVE_DONE) << run.message();
    EXPECT_TRUE(got.same_bits(mine[k])) << b.graph().name(p.value);
  }
}

constexpr const char* strided = R"(
graph @main(%x: input f32[3,4]{1,3}, %w: param f32[4,5]{1,6}, %b: buffer f32[3,5]{7,1}) {
  %h = mm(%x, %w) : f32[3,5]
  %s = add(%h, %b) : f32[3,5]
  return %h, %s -> %b
})";

TEST(GraphLibrary, strides_of_inputs_parameters_and_buffers) {
  compare(strided);
  compare(strided, WeightPlace::beside);
}

TEST(GraphLibrary, inputs_that_are_updated_and_constants) {
  compare(R"(
graph @main(%x: input f32[8], %c: const f32[8], %e: input f32[0,3]) {
  %y = mul(%x, %c) : f32[8]
  %z = sub(%y, %x) : f32[8]
  return %z, %y -> %x, %e
})");
}

TEST(GraphLibrary, tables_that_depend_on_nothing_are_computed_when_it_is_opened) {
  const std::string tables = R"(
graph @main(%x: input f32[64,64], %c: const f32[64]) {
  %i = arange(; end=4096, dtype=f32) : f32[4096]
  %s = sin(%i) : f32[4096]
  %v = view(%s; size=[64,64]) : f32[64,64]
  %p = mul(%x, %v) : f32[64,64]
  %y = add(%p, %c) : f32[64,64]
  return %y
})";
  compare(tables);
  compare(tables, WeightPlace::beside);
}

TEST(GraphLibrary, what_depends_on_constants_alone_is_a_program_of_its_own) {
  Built b(R"(
graph @main(%x: input f32[4,6], %c: const f32[6,8], %d: const f32[8,5]) {
  %p = mm(%c, %d) : f32[6,5]
  %y = mm(%x, %p) : f32[4,5]
  return %y
})");
  b.source.options.freeze = true;
  const Folder folder;
  Library library(value_or_throw(ahead::build_library(b.source, folder / "g.so", {})).path, "g");
  Opened run(library);
  const auto value = [](const HostTensor& t, int64_t row, int64_t column) {
    return t.number(row * t.shape()[1] + column);
  };
  HostTensor c = b.values[1];
  HostTensors out = b.outputs();
  for (const double more : {0.0, 2.0}) {
    for (int64_t k = 0; k < c.numel(); ++k) c.set_number(k, b.values[1].number(k) + more);
    ASSERT_EQ(run.set_constants({{"c", c}}), CLEAVE_DONE) << run.message();
    ASSERT_EQ(run.run(b.inputs, out), CLEAVE_DONE) << run.message();
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 5; ++j) {
        double sum = 0;  // of whole numbers: exact
        for (int64_t k = 0; k < 6; ++k)
          for (int64_t l = 0; l < 8; ++l)
            sum += value(b.inputs[0], i, k) * value(c, k, l) * value(b.values[2], l, j);
        EXPECT_EQ(value(out[0], i, j), sum);
      }
  }
}

// A program has the kernels of its own level alone (ahead/kernel_tables.h).
TEST(GraphLibrary, calls_of_the_library_on_each_level) {
  for (const Target& target : test::targets_here()) {
    SCOPED_TRACE(target.text());
    const std::string more =
        " padding=[1,1], dilation=[1,1], transposed=false, output_padding=[0,0], groups=";
    compare(R"(
graph @main(%a: input f32[37,70], %b: input f32[70,40], %i: input i8[37,70], %j: input i8[70,40],
            %x: input f32[2,16,9,9], %w: input f32[32,16,3,3], %d: input f32[16,1,3,3],
            %q: input f32[1,2,40,32], %s: input f32[5,300]) {
  %p = mm(%a, %b) : f32[37,40]
  %a1 = _to_copy(%a; dtype=bf16) : bf16[37,70]
  %b1 = _to_copy(%b; dtype=bf16) : bf16[70,40]
  %p1 = mm(%a1, %b1) : bf16[37,40]
  %a2 = _to_copy(%a; dtype=f64) : f64[37,70]
  %b2 = _to_copy(%b; dtype=f64) : f64[70,40]
  %p2 = mm(%a2, %b2) : f64[37,40]
  %p3 = _int_mm(%i, %j) : i32[37,40]
  %c = convolution(%x, %w, none; stride=[1,1],)" +
                more + R"(1) : f32[2,32,9,9]
  %e = convolution(%x, %d, none; stride=[1,1],)" +
                more + R"(16) : f32[2,16,9,9]
  %x1 = _to_copy(%x; dtype=bf16) : bf16[2,16,9,9]
  %w1 = _to_copy(%w; dtype=bf16) : bf16[32,16,3,3]
  %c1 = convolution(%x1, %w1, none; stride=[2,2],)" +
                more + R"(1) : bf16[2,32,5,5]
  %o, %sums = _scaled_dot_product_flash_attention_for_cpu(%q, %q, %q) : f32[1,2,40,32], f32[1,2,40]
  %q1 = _to_copy(%q; dtype=bf16) : bf16[1,2,40,32]
  %o1, %sums1 = _scaled_dot_product_flash_attention_for_cpu(%q1, %q1, %q1)
  %v, %k = sort(%s; dim=1) : f32[5,300], i64[5,300]
  return %p, %p1, %p2, %p3, %c, %e, %c1, %o, %o1, %v, %k
})",
            WeightPlace::inside, target);
  }
}

TEST(GraphLibrary, levels_of_processors) {
  for (const Target& target : test::levels()) {
    Built b(strided, target);
    const Folder folder;
    const BuiltLibrary built = value_or_throw(ahead::build_library(b.source, folder / "g.so", {}));
    Library library(built.path, "g");
    const bool runs = standalone::missing_here(standalone::features_of(target)).empty();
    cleave_instance* const instance = library.open();
    EXPECT_EQ(instance != nullptr, runs) << target.text();
    if (instance == nullptr) {
      EXPECT_EQ(library.error.code, CLEAVE_UNSUPPORTED);
      EXPECT_NE(std::string(library.error.message)
                    .find("g_open: the program was built for a processor with "),
                std::string::npos);
      continue;
    }
    library.get<void(cleave_instance*)>("close")(instance);
    Opened run(library);
    HostTensors out = b.outputs();
    EXPECT_EQ(run.run(b.inputs, out), CLEAVE_DONE) << run.message();
  }
}

TEST(GraphLibrary, what_is_bound_is_used_until_something_else_is) {
  Built b(strided);
  const Folder folder;
  Library library(value_or_throw(ahead::build_library(b.source, folder / "g.so", {})).path, "g");
  Opened run(library);
  auto* const bind =
      library.get<int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*)>("bind");
  HostTensor buffer = tensor_of(b.graph().type(b.graph().find("b")), 0);
  const HostTensor before = buffer;
  std::vector<int64_t> strides;
  const cleave_tensor c = as_c(buffer, strides);
  ASSERT_EQ(bind(run.get(), "b", &c, &library.error), CLEAVE_DONE) << run.message();
  HostTensors out = b.outputs();
  ASSERT_EQ(run.run(b.inputs, out), CLEAVE_DONE) << run.message();
  for (int64_t k = 0; k < 15; ++k) EXPECT_EQ(buffer.number(k), before.number(k) + out[0].number(k));
  cleave_tensor wrong = c;
  wrong.strides = nullptr;
  EXPECT_EQ(bind(run.get(), "b", &wrong, &library.error), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(),
            "g_bind: state `b`: its strides are [5,1], expected f32[3,5] strides=[7,1]");
  EXPECT_EQ(bind(run.get(), nullptr, &c, &library.error), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "g_bind: the name is NULL");
  HostTensors none;
  std::vector<int64_t> by;
  const cleave_tensor x = as_c(b.inputs[0], by);
  auto* const run_bound = library.get<int(cleave_instance*, const cleave_tensor*, size_t,
                                          const cleave_tensor*, size_t, cleave_error*)>("run");
  Opened fresh(library);
  EXPECT_EQ(run_bound(fresh.get(), nullptr, 0, nullptr, 0, &library.error), CLEAVE_USER_ERROR);
  EXPECT_EQ(fresh.message(), "g_run: input 0 `x` is bound to nothing");
  ASSERT_EQ(bind(fresh.get(), "x", &x, &library.error), CLEAVE_DONE) << fresh.message();
  EXPECT_EQ(run_bound(fresh.get(), nullptr, 0, nullptr, 0, &library.error), CLEAVE_DONE);
}

TEST(GraphLibrary, state_that_is_bound_lies_apart) {
  const Built b(R"(graph @g(%x: input f32[4], %p: buffer f32[4], %q: buffer f32[4]) {
  %a = add(%p, %x)
  %m = mul(%q, %x)
  return %m, %a -> %p
})");
  const Folder folder;
  Library library(value_or_throw(ahead::build_library(b.source, folder / "g.so", {})).path, "g");
  Opened run(library);
  auto* const bind =
      library.get<int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*)>("bind");
  float memory[12] = {};
  const int64_t shape[] = {4};
  const auto at = [&](void* data) { return cleave_tensor{data, CLEAVE_F32, 1, shape, nullptr}; };
  const auto bound = [&](const char* name, void* data) {
    const cleave_tensor t = at(data);
    EXPECT_EQ(bind(run.get(), name, &t, &library.error), CLEAVE_DONE) << run.message();
  };
  HostTensors out = b.outputs();
  bound("p", memory);
  bound("q", memory + 2);
  EXPECT_EQ(run.run(b.inputs, out), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(),
            "g_run: state `q` lies in the memory of state `p`, one of which is written");
  EXPECT_EQ(run.run(b.inputs, out), CLEAVE_USER_ERROR);  // it still does
  bound("q", memory + 4);
  EXPECT_EQ(run.run(b.inputs, out), CLEAVE_DONE) << run.message();
  cleave_tensor result{};
  auto* const result_of =
      library.get<int(cleave_instance*, size_t, cleave_tensor*, cleave_error*)>("result");
  ASSERT_EQ(result_of(run.get(), 0, &result, &library.error), CLEAVE_DONE) << run.message();
  bound("q", result.data);
  EXPECT_EQ(run.run(b.inputs, out), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(),
            "g_run: state `q` lies in memory of the program: results of its last run");
}

// A graph with a symint %n, at some sizes; all other placeholders are inputs.
Result<BuiltLibrary> build_at(const std::string& text, const std::vector<int64_t>& sizes,
                              const std::string& path) {
  const Graph g = value_or_throw(parse(text, "test", registry())).main;
  ahead::Source source;
  source.ops = &registry();
  source.sizes = {{"n", 0, 64}};
  source.outputs = {"out.0"};
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::input) source.inputs.push_back(g.name(p.value));
  for (const int64_t n : sizes) {
    ahead::Source::Program program{.graph = value_or_throw(specialize(g, {{"n", n}})),
                                   .inputs = source.inputs};
    program.sizes["n"] = 0;
    program.outputs = {0};
    source.sized.push_back({{n}, std::move(program)});
  }
  return ahead::build_library(source, path, {});
}

TEST(GraphLibrary, a_symint_is_the_size_of_the_run) {
  const Folder folder;
  Library library(value_or_throw(build_at(R"(
graph @main(%n: symint range(0,64), %x: input i64[n], %y: input i64[n*2+1]) {
  %s = sum(%y) : i64[]
  %a = add(%x, %n) : i64[n]
  %z = add(%a, %s) : i64[n]
  return %z
})",
                                          {2, 5}, folder / "g.so"))
                      .path,
                  "g");
  Opened run(library);
  const auto ones = [](int64_t n) {
    return HostTensor::from(std::vector<int64_t>(static_cast<size_t>(n), 1));
  };
  for (const int64_t n : {5, 2}) {
    HostTensors out = {HostTensor(DType::i64, {n})};
    ASSERT_EQ(run.run({ones(n), ones(2 * n + 1)}, out), CLEAVE_DONE) << run.message();
    EXPECT_EQ(out[0].number(0), static_cast<double>(1 + n + 2 * n + 1));
  }
  const auto told = [&](int64_t x, int64_t y) {
    HostTensors none;
    EXPECT_EQ(run.run({ones(x), ones(y)}, none), CLEAVE_USER_ERROR);
    return run.message();
  };
  EXPECT_EQ(told(5, 5), "g_run: input 1 `y`: it is i64[5], expected i64[11], as i64[n*2+1] is");
  EXPECT_EQ(told(5, 12), "g_run: input 1 `y`: it is i64[12], expected i64[11], as i64[n*2+1] is");
  EXPECT_EQ(told(4, 9), "g_run: the library has no program for n=4; it holds n=2, n=5");
  EXPECT_EQ(told(65, 131), "g_run: input 0 `x` (dim 0): n is 65, expected 0 to 64: got i64[65]");
}

TEST(GraphLibrary, sizes_that_no_plain_dim_tells) {
  const Folder folder;
  constexpr const char* text = R"(
graph @main(%n: symint range(0,64), %x: input i64[n*3]) {
  %z = add(%x, %n) : i64[n*3]
  return %z
})";
  Library library(value_or_throw(build_at(text, {1, 4}, folder / "g.so")).path, "g");
  Opened run(library);
  HostTensors none;
  EXPECT_EQ(run.run({HostTensor(DType::i64, {6})}, none), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "g_run: the library has no program for `x` i64[6]; it holds n=1, n=4");
  EXPECT_EQ(run.run({HostTensor(DType::i64, {6, 1})}, none), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "g_run: input 0 `x`: it is i64[6,1], expected i64[n*3]");
  EXPECT_EQ(run.run({HostTensor(DType::i64, {12})}, none), CLEAVE_DONE) << run.message();
  const auto hidden = build_at(R"(
graph @main(%n: symint range(0,64), %x: input i64[3]) {
  %z = add(%x, %n) : i64[3]
  return %z
})",
                               {1, 4}, folder / "h.so");
  ASSERT_FALSE(hidden.ok());
  EXPECT_EQ(hidden.failure().message,
            "build: the shapes of the inputs don't tell n=1 from n=4; build a library for each");
}

TEST(GraphLibrary, a_value_that_is_missing_or_another_ones_is_named) {
  Built b(strided);
  const Folder folder;
  b.source.state[0].value.reset();
  auto built = ahead::build_library(b.source, folder / "g.so", {});
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.failure().message, "build: `w` (param) has no value to be put in the library");
  b.source.state[0].value = HostTensor(DType::f32, {2});
  built = ahead::build_library(b.source, folder / "g.so", {});
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.failure().message, "build: `w` is given as f32[2], expected f32[4,5]");
  EXPECT_FALSE(std::filesystem::exists(folder / "g.so"));
}

}  // namespace
}  // namespace cleave
