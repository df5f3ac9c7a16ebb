// Generated code on one thread: ns an element of four fused kernels, in the first cache (8192
// elements a buffer, adam 1024) and from memory (64 MB a buffer, rounded down to whole rows), and
// the time to compile them, and 64 small kernels.
//
//   bench_kernels
//
// Times are the thread's, the least of several runs.
#include <fmt/format.h>
#include <algorithm>

#include "bench/timing.h"
#include "emit/c_source.h"
#include "loop/kernel_builder.h"
#include "runtime/compiler.h"
#include "schedule/schedule.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Kernel;
using loop::KernelBuilder;
using loop::Op;
using loop::ReduceOp;

// A kernel on row-major buffers of shape [rows, columns]: operands are read, results written.
struct Written {
  Kernel kernel;
  int64_t rows, columns;
};
struct Names {
  std::vector<std::string> operands, results;
  bool in_place = false;  // the results are updated
};

template <class F>
Written write(const std::string& name, int64_t rows, int64_t columns, const Names& names, F body) {
  Written w{{}, rows, columns};
  w.kernel.name = name;
  const loop::Layout layout = loop::Layout::contiguous({rows, columns});
  std::vector<loop::Bound> operands, results;
  const auto add = [&](const std::string& buffer, loop::Access access) {
    w.kernel.buffers.push_back({buffer, DType::f32, rows * columns, access});
    return loop::Bound{std::ssize(w.kernel.buffers) - 1, DType::f32, layout};
  };
  for (const std::string& n : names.operands) operands.push_back(add(n, loop::Access::read));
  for (const std::string& n : names.results)
    results.push_back(add(n, names.in_place ? loop::Access::update : loop::Access::write));
  KernelBuilder k(w.kernel, operands, results);
  body(k);
  return w;
}

Expr f32(double v) { return loop::constant(DType::f32, v); }

Written gelu(int64_t rows, int64_t columns) {
  return write("gelu", rows, columns, {{"x"}, {"y"}}, [&](KernelBuilder& k) {
    k.parallel({rows}, [&](const loop::Exprs& i) {
      k.each(columns, [&](Expr j) {
        Expr x = k.let(k.load(0, {i[0], j}), "x");
        Expr inner = f32(0.7978845608) * (x + f32(0.044715) * x * x * x);
        k.store(0, {i[0], j}, f32(0.5) * x * (f32(1) + unary(Op::tanh, inner)));
      });
    });
  });
}

Written softmax(int64_t rows, int64_t columns) {
  return write("softmax", rows, columns, {{"x"}, {"y"}}, [&](KernelBuilder& k) {
    k.parallel({rows}, [&](const loop::Exprs& i) {
      Expr top = k.reduce(ReduceOp::max, {columns},
                          [&](const loop::Exprs& j) { return k.load(0, {i[0], j[0]}); });
      const auto power = [&](Expr j) { return unary(Op::exp, k.load(0, {i[0], j}) - top); };
      Expr sum =
          k.reduce(ReduceOp::sum, {columns}, [&](const loop::Exprs& j) { return power(j[0]); });
      Expr scale = k.let(f32(1) / sum, "scale");
      k.each(columns, [&](Expr j) { k.store(0, {i[0], j}, power(j) * scale); });
    });
  });
}

Written layer_norm(int64_t rows, int64_t columns) {
  return write("layer_norm", rows, columns, {{"x", "w", "b"}, {"y"}}, [&](KernelBuilder& k) {
    const Expr n = f32(static_cast<double>(columns));
    k.parallel({rows}, [&](const loop::Exprs& i) {
      Expr sum = k.reduce(ReduceOp::sum, {columns},
                          [&](const loop::Exprs& j) { return k.load(0, {i[0], j[0]}); });
      Expr mean = k.let(sum / n, "mean");
      Expr squares = k.reduce(ReduceOp::sum, {columns}, [&](const loop::Exprs& j) {
        Expr d = k.load(0, {i[0], j[0]}) - mean;
        return d * d;
      });
      Expr scale = k.let(unary(Op::rsqrt, squares / n + f32(1e-5)), "scale");
      k.each(columns, [&](Expr j) {
        Expr d = k.load(0, {i[0], j}) - mean;
        k.store(0, {i[0], j}, d * scale * k.load(1, {0, j}) + k.load(2, {0, j}));
      });
    });
  });
}

Written adam(int64_t rows, int64_t columns) {
  return write("adam", rows, columns, {{"g"}, {"p", "m", "v"}, true}, [&](KernelBuilder& k) {
    k.parallel({rows * columns}, [&](const loop::Exprs& i) {
      const loop::Exprs at = {0, i[0]};
      Expr g = k.let(k.load(0, at), "g");
      Expr m = k.let(k.load_result(1, at) * f32(0.9) + g * f32(0.1), "m");
      Expr v = k.let(k.load_result(2, at) * f32(0.999) + g * g * f32(0.001), "v");
      Expr step = m / (unary(Op::sqrt, v) + f32(1e-8));
      k.store(0, at, k.load_result(0, at) - f32(1e-3) * step);
      k.store(1, at, m);
      k.store(2, at, v);
    });
  });
}

Written small(int64_t n) {
  return write("small", 1, 4096, {{"x", "z"}, {"y"}}, [&](KernelBuilder& k) {
    k.parallel({4096}, [&](const loop::Exprs& i) {
      Expr x = k.load(0, {0, i[0]}), z = k.load(1, {0, i[0]});
      Expr y = x * f32(static_cast<double>(n)) + z;
      if (n % 4 == 0) y = unary(Op::exp, y);
      if (n % 4 == 1) y = select(binary(Op::gt, y, f32(0)), y, f32(0));
      if (n % 4 == 2) y = y / (z * z + f32(1));
      k.store(0, {0, i[0]}, y);
    });
  });
}

struct Code {
  std::vector<std::shared_ptr<runtime::LoadedCode>> units;
  double seconds = 1e300;
};

Code compile(runtime::Compiler& compiler, const std::vector<std::string>& texts) {
  Code code;
  for (int run = 0; run < 5; ++run) {
    code.units.clear();
    const double begin = bench::thread_seconds();
    for (size_t i = 0; i < texts.size(); i += 8) {
      std::string unit;
      for (size_t k = i; k < std::min(i + 8, texts.size()); ++k) unit += texts[k];
      code.units.push_back(
          value_or_throw(compiler.compile(emit::c_prelude_for(unit) + unit, "unit")));
    }
    code.seconds = std::min(code.seconds, bench::thread_seconds() - begin);
  }
  return code;
}

using Function = int64_t (*)(void* const*, const int64_t*, int64_t, int64_t, int64_t*);

double ns_per_element(runtime::Compiler& compiler, const Written& w) {
  const emit::CKernel c = emit::emit_c(schedule::schedule(w.kernel), "k");
  const Code code = compile(compiler, {c.text});
  const auto f = reinterpret_cast<Function>(code.units[0]->symbol(c.phases[0].symbol));
  const int64_t elements = w.rows * w.columns;
  std::vector<std::vector<float>> memory;
  std::vector<void*> buffers;
  for (const loop::Buffer& b : w.kernel.buffers) {
    std::vector<float>& m = memory.emplace_back(static_cast<size_t>(b.elements) + 16);
    for (size_t i = 0; i < m.size(); ++i) m[i] = 0.001f * static_cast<float>(i % 4001);
    const auto at = reinterpret_cast<uintptr_t>(m.data());
    buffers.push_back(reinterpret_cast<void*>((at + 63) / 64 * 64));
  }
  double best = 1e300;
  int64_t fault[2];
  for (int run = 0; run < 7; ++run) {
    const int64_t repeats = std::max<int64_t>(1, (int64_t{1} << 23) / elements);
    const double begin = bench::thread_seconds();
    for (int64_t i = 0; i < repeats; ++i) f(buffers.data(), nullptr, 0, c.phases[0].extent, fault);
    best = std::min(best, (bench::thread_seconds() - begin) / static_cast<double>(repeats));
  }
  return best / static_cast<double>(elements) * 1e9;
}

void run() {
  auto compiler = value_or_throw(runtime::make_compiler(CompilerChoice::automatic, Target::here()));
  constexpr int64_t large = (64 << 20) / 4;
  struct Row {
    const char* name;
    Written (*write)(int64_t, int64_t);
    int64_t columns, cached_rows;
  };
  const Row rows[] = {{"gelu", gelu, 1024, 4},
                      {"softmax, rows of 1024", softmax, 1024, 4},
                      {"layer norm, rows of 768", layer_norm, 768, 4},
                      {"softmax, rows of 63", softmax, 63, 64},
                      {"adam", adam, 1024, 1}};
  fmt::print("{:<26}{:>12}{:>12}   ns an element\n", compiler->name(), "cache", "64 MB");
  for (const Row& r : rows)
    fmt::print("{:<26}{:>12.3f}{:>12.3f}\n", r.name,
               ns_per_element(*compiler, r.write(r.cached_rows, r.columns)),
               ns_per_element(*compiler, r.write(large / r.columns, r.columns)));
  std::vector<std::string> four, many;
  for (const Row& r : rows)
    if (r.columns != 63)
      four.push_back(emit::emit_c(schedule::schedule(r.write(512, r.columns).kernel),
                                  fmt::format("k{}", four.size()))
                         .text);
  for (int64_t n = 0; n < 64; ++n)
    many.push_back(emit::emit_c(schedule::schedule(small(n).kernel), fmt::format("k{}", n)).text);
  fmt::print("the four compile in {:.1f} ms, 64 small kernels in {:.1f} ms\n",
             compile(*compiler, four).seconds * 1e3, compile(*compiler, many).seconds * 1e3);
}

}  // namespace
}  // namespace cleave

int main() { cleave::run(); }
