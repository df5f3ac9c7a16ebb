// Vectorized loops: compiled kernels write the same bits as bytecode, read nothing outside their
// buffers, and report the first failed index.
// tests: lane_expr.cpp lane_reduce.cpp lane_writer.cpp
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "emit/bytecode.h"
#include "emit/c_source.h"
#include "loop/kernel_builder.h"
#include "loop/parse.h"
#include "runtime/compiler.h"
#include "schedule/schedule.h"
#include "test/targets.h"

namespace cleave {
namespace {

using loop::Access;
using loop::Expr;
using loop::Exprs;
using loop::Kernel;
using loop::KernelBuilder;
using loop::Op;
using loop::ReduceOp;

// Memory that is followed by an inaccessible page.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (bytes + page - 1) / page * page + page;
    base_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + mapped_ - page, page, PROT_NONE);
    data_ = base_ + mapped_ - page - bytes;
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  char* data() const { return data_; }
  std::string text() const { return {data_, bytes_}; }

 private:
  size_t bytes_, mapped_ = 0;
  char *base_ = nullptr, *data_ = nullptr;
};

struct Outcome {
  std::vector<std::string> memory;
  std::vector<int64_t> fault = {0, 0, 0};  // the number of the check, index, bound
};

// Small numbers of both signs, zeros of both from the first on; positions for i64.
void fill(Guarded& memory, const loop::Buffer& b) {
  for (int64_t i = 0; i < b.elements; ++i) {
    const int64_t v = i % 11 == 0 ? 0 : (i * 37 + 11) % 101 - 50;
    const double zero = i % 2 == 0 ? -0.0 : 0.0;
    char* at = memory.data() + i * size_of(b.dtype);
    const auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
    switch (b.dtype) {
      case DType::f64: put(v == 0 ? zero : static_cast<double>(v) / 8); break;
      case DType::f32: put(static_cast<float>(v == 0 ? zero : static_cast<double>(v) / 8)); break;
      case DType::bf16: put(static_cast<uint16_t>(0x3f80 + v)); break;
      case DType::f16: put(static_cast<uint16_t>(0x3c00 + 7 * v)); break;
      case DType::i64: put((i * 7 + 3) % b.elements); break;
      case DType::i32: put(static_cast<int32_t>(v)); break;
      case DType::i16: put(static_cast<int16_t>(v)); break;
      case DType::boolean: put(static_cast<uint8_t>(v > 0)); break;
      default: put(static_cast<int8_t>(v)); break;
    }
  }
}

template <class Run>
Outcome outcome(const Kernel& k, size_t phases, Run run) {
  std::vector<std::unique_ptr<Guarded>> memory;
  std::vector<void*> buffers;
  for (const loop::Buffer& b : k.buffers) {
    memory.push_back(std::make_unique<Guarded>(static_cast<size_t>(b.elements) * size_of(b.dtype)));
    fill(*memory.back(), b);
    buffers.push_back(memory.back()->data());
  }
  Outcome out;
  for (size_t p = 0; p < phases && out.fault[0] == 0; ++p)
    out.fault[0] = run(p, buffers.data(), &out.fault[1]);
  for (size_t b = 0; b < memory.size(); ++b)
    if (k.buffers[b].access != Access::local) out.memory.push_back(memory[b]->text());
  return out;
}

using Function = int64_t (*)(void* const*, const int64_t*, int64_t, int64_t, int64_t*);

// Runs the kernel in all ways, in two pieces; returns its C text.
std::string check(const Kernel& k) {
  EXPECT_TRUE(loop::verify(k).ok()) << loop::print(k);
  const emit::BytecodeKernel code = emit::emit_bytecode(schedule::schedule(k));
  const Outcome want = outcome(k, code.phases.size(), [&](size_t p, void** b, int64_t* fault) {
    return code.phases[p].code->run(b, nullptr, 0, code.phases[p].extent, fault);
  });
  const emit::CKernel c = emit::emit_c(schedule::schedule(k), "k");
  std::vector<std::pair<CompilerChoice, Target>> ways;
  for (const Target& target : test::targets_here()) {
    ways.emplace_back(CompilerChoice::clang, target);
    // gcc has lanes in parts of one register where those are short.
    if (target.set < InstructionSet::avx512 || target == Target::here())
      ways.emplace_back(CompilerChoice::cc, target);
  }
  for (const auto& [kind, target] : ways) {
    SCOPED_TRACE(target.text());
    auto compiler = runtime::make_compiler(kind, target);
    if (!compiler.ok()) continue;
    auto unit = (*compiler)->compile(emit::c_prelude_for(c.text) + c.text, "lanes");
    EXPECT_TRUE(unit.ok()) << unit.failure().message << c.text;
    if (!unit.ok()) continue;
    const Outcome got = outcome(k, c.phases.size(), [&](size_t p, void** b, int64_t* fault) {
      const auto f = reinterpret_cast<Function>((*unit)->symbol(c.phases[p].symbol));
      const int64_t extent = c.phases[p].extent, middle = extent / 3;
      const int64_t failed = middle > 0 ? f(b, nullptr, 0, middle, fault) : 0;
      return failed ? failed : f(b, nullptr, middle, extent, fault);
    });
    EXPECT_EQ(got.fault, want.fault) << c.text;
    for (size_t b = 0; b < want.memory.size() && want.fault[0] == 0; ++b)
      EXPECT_TRUE(got.memory[b] == want.memory[b])
          << k.buffers[b].name << " by " << (*compiler)->name() << c.text;
  }
  return c.text;
}

struct Operand {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  Access access = Access::read;
};

Kernel kernel(const std::vector<Operand>& operands,
              const std::function<void(KernelBuilder&)>& body) {
  Kernel k;
  k.name = "lanes";
  std::vector<loop::Bound> read, written;
  for (const Operand& o : operands) {
    const loop::Layout layout = loop::Layout::contiguous(o.shape);
    const loop::Bound bound{std::ssize(k.buffers), o.dtype, layout};
    k.buffers.push_back({o.name, o.dtype, layout.numel(), o.access});
    (o.access == Access::read ? read : written).push_back(bound);
  }
  KernelBuilder b(k, read, written);
  body(b);
  return k;
}

bool in_lanes(const std::string& text) { return text.find("x16") != std::string::npos; }

Expr f32(double v) { return loop::constant(DType::f32, v); }

TEST(Lanes, EveryDtypeAndTail) {
  for (int64_t n : {16, 29})
    for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                    DType::i16, DType::i8, DType::u8, DType::boolean}) {
      const std::string text =
          check(kernel({{"x", t, {3, n}},
                        {"y", t, {3, n}, Access::write},
                        {"sign", DType::f32, {3, n}, Access::write},
                        {"whole", DType::i64, {3, n}, Access::write},
                        {"truth", DType::boolean, {3, n}, Access::write}},
                       [&](KernelBuilder& k) {
                         k.parallel({3}, [&](const Exprs& i) {
                           k.each(n, [&](Expr j) {
                             const Exprs at = {i[0], j};
                             Expr x = k.let(k.load(0, at), "x");
                             Expr top = binary(Op::max, x, x);
                             k.store(0, at, t == DType::boolean ? top : top + x * x);
                             k.store(1, at, cast(x, DType::f32) - f32(0.5));
                             k.store(2, at, cast(x, DType::i64) + j);
                             k.store(3, at, binary(Op::ne, x, loop::constant_int(x.type(), 0)));
                           });
                         });
                       }));
      EXPECT_TRUE(in_lanes(text)) << text;
    }
}

TEST(Lanes, EveryFunction) {
  for (DType t : {DType::f32, DType::f64}) {
    std::vector<Op> ops;
    for (int op = static_cast<int>(Op::neg); op <= static_cast<int>(Op::round); ++op)
      if (static_cast<Op>(op) != Op::logical_not && static_cast<Op>(op) != Op::bit_not)
        ops.push_back(static_cast<Op>(op));
    const int64_t n = 37, count = std::ssize(ops);
    const std::string text =
        check(kernel({{"x", t, {n}}, {"y", t, {count, n}, Access::write}}, [&](KernelBuilder& k) {
          k.parallel({n}, [&](const Exprs& i) {
            Expr x = k.let(k.load(0, i), "x");
            for (int64_t f = 0; f < count; ++f)
              // The sign of a NaN is unspecified.
              k.store(0, {f, i[0]},
                      select(unary(Op::isnan, unary(ops[static_cast<size_t>(f)], x)),
                             loop::constant(t, 7), unary(ops[static_cast<size_t>(f)], x)));
          });
        }));
    EXPECT_TRUE(in_lanes(text)) << text;

    const std::string columns = check(
        kernel({{"x", t, {100}}, {"y", t, {count, 100}, Access::write}}, [&](KernelBuilder& k) {
          k.parallel({2}, [&](const Exprs& i) {
            k.lanes(binary(Op::min, Expr(100) - i[0] * Expr(64), Expr(64)), [&](Expr lane) {
              Expr at = i[0] * Expr(64) + lane;
              Expr x = k.let(k.load(0, {at}) + cast(at, t), "x");
              for (int64_t f = 0; f < count; ++f) {
                Expr y = k.let(unary(ops[static_cast<size_t>(f)], x), "y");
                k.store(0, {f, at},
                        select(unary(Op::isnan, cast(y, t)), loop::constant(t, 7), cast(y, t)));
              }
            });
          });
        }));
    EXPECT_NE(columns.find("x64"), std::string::npos) << columns;
  }
}

TEST(Lanes, IntegerOperations) {
  for (DType t : {DType::i64, DType::i32}) {
    const std::vector<Op> ops = {Op::add,     Op::sub,    Op::mul,     Op::div, Op::min, Op::max,
                                 Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr, Op::pow};
    const int64_t n = 40, count = std::ssize(ops);
    check(kernel({{"a", t, {n}}, {"b", t, {n}}, {"y", t, {count, n}, Access::write}},
                 [&](KernelBuilder& k) {
                   k.parallel({n}, [&](const Exprs& i) {
                     for (int64_t f = 0; f < count; ++f)
                       k.store(0, {f, i[0]},
                               binary(ops[static_cast<size_t>(f)], k.load(0, i),
                                      k.load(1, {Expr(n - 1) - i[0]})));
                   });
                 }));
  }
}

// Padding: the arm that reads is out of range in the other lanes.
TEST(Lanes, UntakenArmsReadNothing) {
  for (int64_t n : {16, 29, 64}) {
    const std::string text = check(kernel(
        {{"x", DType::f32, {n}},
         {"at", DType::i64, {n}},
         {"y", DType::f32, {n + 5000}, Access::write}},
        [&](KernelBuilder& k) {
          k.parallel({n + 5000}, [&](const Exprs& i) {
            Expr inside = binary(Op::lt, i[0], Expr(n));
            Expr far = binary(Op::gt, i[0], Expr(n + 4000));
            Expr nested = select(far, f32(3), k.load(0, {Expr(n - 1) - i[0]}));
            Expr indirect = k.load(0, {k.load(1, i)});
            // Another lane's place is terabytes away.
            Expr away = binary(Op::max, i[0] - Expr(n - 1), Expr(0)) * Expr(int64_t{1} << 32);
            Expr gathered = k.load(0, {away + Expr(n - 1) - i[0]});
            k.store(0, i,
                    select(inside, indirect + k.load(0, i), f32(1)) +
                        select(inside, nested, f32(2)) + select(inside, gathered, f32(3)));
          });
        }));
    EXPECT_TRUE(in_lanes(text)) << text;
  }
}

// One element is loaded for all lanes if any of them needs it.
TEST(Lanes, ZerosKeepTheirSigns) {
  for (const DType t : {DType::f32, DType::f64}) {
    const std::string text = check(kernel(
        {{"x", t, {64}}, {"w", t, {1}}, {"y", t, {64}, Access::write}}, [&](KernelBuilder& k) {
          k.parallel({64}, [&](const Exprs& i) {
            const Expr one = loop::constant(t, 1);
            const Expr w = k.load(1, {Expr(0)});
            k.store(0, i, select(binary(Op::lt, k.load(0, i), one), w, w * one));
          });
        }));
    EXPECT_TRUE(in_lanes(text)) << text;
  }
}

TEST(Lanes, StridesGathersAndScatters) {
  const int64_t n = 43;
  const std::string text = check(kernel({{"x", DType::f32, {n, 3}},
                                         {"where", DType::i64, {n}},
                                         {"h", DType::bf16, {n, 2}},
                                         {"y", DType::f32, {n, 2}, Access::write},
                                         {"z", DType::bf16, {n}, Access::write}},
                                        [&](KernelBuilder& k) {
                                          k.parallel({n}, [&](const Exprs& i) {
                                            Expr at = k.let(k.load(1, i), "at");
                                            k.store(0, {i[0], 0}, k.load(0, {i[0], 2}));
                                            k.store(0, {Expr(n - 1) - i[0], 1}, k.load(0, {at, 1}));
                                            k.store(1, i, k.load(2, {at, 1}) + k.load(0, {0, 1}));
                                          });
                                        }));
  EXPECT_TRUE(in_lanes(text)) << text;
}

// One pass, several folds, a row that is kept in local memory.
TEST(Lanes, ReduceFoldsInSixteenLanes) {
  for (int64_t n : {16, 17, 40, 250}) {
    Kernel k = kernel({{"x", DType::f32, {5, n}},
                       {"i", DType::i64, {5, n}},
                       {"y", DType::f32, {5, n}, Access::write},
                       {"sums", DType::f32, {5, 2}, Access::write},
                       {"least", DType::i64, {5}, Access::write},
                       {"any", DType::boolean, {5}, Access::write}},
                      [](KernelBuilder&) {});
    k.buffers.push_back({"row", DType::f32, n, Access::local});
    const int64_t row = std::ssize(k.buffers) - 1;
    KernelBuilder names(k, {}, {});
    const auto var = [&](const char* name, DType t) { return names.fresh_var(name, t); };
    const Expr p = var("p", DType::i64), j = var("j", DType::i64), e = var("e", DType::f32);
    const Expr sum = var("sum", DType::f32), top = var("top", DType::f32);
    const Expr least = var("least", DType::i64), any = var("any", DType::boolean);
    const Expr at = p * Expr(n) + j, x = loop::load(0, DType::f32, at);
    loop::Reduce r{{{j, Expr(n)}},
                   {{loop::Let{e, unary(Op::exp, x)}}, {loop::Store{row, j, e}}},
                   {{ReduceOp::sum, sum, e},
                    {ReduceOp::max, top, x},
                    {ReduceOp::min, least, loop::load(1, DType::i64, at) - j},
                    {ReduceOp::any, any, binary(Op::gt, x, f32(6))}}};
    const Expr again = var("j", DType::i64);
    loop::For each{
        {again, Expr(n)},
        loop::ForKind::independent,
        {{loop::Store{2, p * Expr(n) + again, loop::load(row, DType::f32, again) / sum}}}};
    loop::For rows{{p, Expr(5)},
                   loop::ForKind::parallel,
                   {{r},
                    {each},
                    {loop::Store{3, p * Expr(2), sum}},
                    {loop::Store{3, p * Expr(2) + Expr(1), top}},
                    {loop::Store{4, p, least}},
                    {loop::Store{5, p, any}}}};
    k.body.push_back({rows});
    const std::string text = check(k);
    EXPECT_NE(text.find("sum_of_f32x16"), std::string::npos) << text;
    EXPECT_NE(text.find("any_of_i32x16"), std::string::npos) << text;
  }
}

// A row in each lane, with what it keeps of itself for its last loop.
TEST(Lanes, RowsShorterThanAVector) {
  const auto text = [](DType t, int64_t rows, int64_t n) {
    return fmt::format(
        "kernel %y(%x: {0}[{1}] read, %y: {0}[{1}] write, %top: {0}[{2}] write, "
        "%sum: f32[{2}] write, %row: {0}[{3}] local, %e: f32[{3}] local) {{\n"
        "  for p in {2} parallel {{\n"
        "    fold over r in {3} {{\n      let x = %x[p*{3} + r]\n      %row[r] = x\n"
        "      top = max of x\n    }}\n"
        "    fold over r in {3} {{\n      let e = exp({4})\n      %e[r] = e\n"
        "      sum = sum of e\n    }}\n"
        "    for i in {3} independent {{\n"
        "      %y[p*{3} + i] = select(lt(%e[i]*2.0, sum), %row[i], top)\n    }}\n"
        "    %top[p] = top\n    %sum[p] = sum\n  }}\n}}\n",
        name_of(t), rows * n, rows, n,
        loop::compute_type(t) == DType::f32 ? "%row[r]" : "f32(%row[r])");
  };
  for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                  DType::i16, DType::i8, DType::u8, DType::boolean})
    for (const auto& [rows, n] : {std::pair(48, 3), {37, 8}, {18, 15}, {33, 16}, {20, 31}}) {
      const auto k = loop::parse_kernel(text(t, rows, n), "rows");
      ASSERT_TRUE(k.ok()) << k.failure().message;
      const std::string c = check(*k);
      EXPECT_NE(c.find("put_strided_"), std::string::npos) << c;
    }
}

// A vector is stored whole only where nothing is behind it.
TEST(Lanes, AFoldStoresItsOwnElements) {
  for (const int64_t n : {12, 20, 31, 32}) {
    const auto k = loop::parse_kernel(
        fmt::format("kernel %y(%x: f32[384] read, %y: f32[384] write, %s: f32[12] write, "
                    "%row: f32[32] local) {{\n"
                    "  for p in 12 parallel {{\n"
                    "    for j in 32 independent {{\n      %row[j] = %x[p*32 + j] + 1.0\n    }}\n"
                    "    fold over r in {} {{\n      let e = exp(%x[p*32 + r])\n      %row[r] = e\n"
                    "      s = sum of e\n    }}\n"
                    "    for j in 32 independent {{\n      %y[p*32 + j] = %row[j]\n    }}\n"
                    "    %s[p] = s\n  }}\n}}\n",
                    n),
        "rows");
    ASSERT_TRUE(k.ok()) << k.failure().message;
    EXPECT_TRUE(in_lanes(check(*k)));
  }
}

// Elements behind the last whole vector are stored in pieces, whatever their type.
TEST(Lanes, WhatATailStoredIsRead) {
  for (const char* t : {"f32", "i64"})
    for (const int64_t n : {17, 31}) {
      const auto k = loop::parse_kernel(
          fmt::format("kernel %y(%x: {0}[{1}] read, %y: {0}[{1}] update, %z: {0}[6] write) {{\n"
                      "  for p in 6 parallel {{\n"
                      "    for j in {2} independent {{\n"
                      "      %y[p*{2} + j] = %x[p*{2} + j]*%x[p*{2}]\n    }}\n"
                      "    fold over r in 3 {{\n      s = sum of %y[p*{2} + {3} + r]\n    }}\n"
                      "    %z[p] = s\n  }}\n}}\n",
                      t, 6 * n, n, n - 3),
          "rows");
      ASSERT_TRUE(k.ok()) << k.failure().message;
      EXPECT_TRUE(in_lanes(check(*k)));
    }
}

// The flat index of a broadcast is split, so that whole rows are vectorized.
TEST(Lanes, RowsOfAFlatLoop) {
  const std::string text =
      check(kernel({{"x", DType::f32, {4, 6, 21}},
                    {"b", DType::f32, {21}},
                    {"c", DType::f32, {6}},
                    {"y", DType::f32, {4, 6, 21}, Access::write}},
                   [&](KernelBuilder& k) {
                     k.parallel({4, 6, 21}, [&](const Exprs& i) {
                       k.store(0, i, (k.load(0, i) + k.load(1, {i[2]})) * k.load(2, {i[1]}));
                     });
                   }));
  EXPECT_NE(text.find("row_end"), std::string::npos) << text;
}

TEST(Lanes, ColumnsKeepOneSumALane) {
  for (int64_t n : {64, 70, 130}) {
    const std::string text =
        check(kernel({{"x", DType::f32, {9, n}},
                      {"h", DType::bf16, {9, n}},
                      {"y", DType::f32, {n}, Access::write},
                      {"z", DType::bf16, {n}, Access::write}},
                     [&](KernelBuilder& k) {
                       k.parallel({(n + 63) / 64}, [&](const Exprs& i) {
                         Expr first = k.let(i[0] * Expr(64), "first");
                         k.lanes(binary(Op::min, Expr(n) - first, Expr(64)), [&](Expr lane) {
                           Expr at = first + lane;
                           Expr sum = k.reduce(ReduceOp::sum, {9}, [&](const Exprs& r) {
                             return k.load(0, {r[0], at}) * k.load(1, {r[0], at});
                           });
                           k.store(0, {at}, sum);
                           k.store(1, {at}, unary(Op::tanh, sum));
                         });
                       });
                     }));
    EXPECT_NE(text.find("f32x64"), std::string::npos) << text;
  }
}

// Each addition rounds, so that another order would give other bits.
TEST(Lanes, LongSumsInBlocks) {
  const std::vector<std::vector<int64_t>> folded = {{256},     {257},     {3000},
                                                    {70, 100}, {3, 2000}, {500, 9}};
  for (const std::vector<int64_t>& loops : folded)
    for (const DType t : {DType::f32, DType::f64, DType::bf16}) {
      if (t != DType::f32 && loops[0] != 500 && loops[0] != 3000) continue;
      const int64_t n = numel_of(loops);
      const DType c = loop::compute_type(t);
      std::vector<int64_t> shape = loops;
      shape.insert(shape.begin(), 2);
      const std::string text = check(
          kernel({{"x", t, shape},
                  {"s", c, {2, 3}, Access::write},
                  {"whole", DType::i64, {2}, Access::write}},
                 [&](KernelBuilder& k) {
                   k.parallel({2}, [&](const Exprs& i) {
                     Exprs extents;
                     for (const int64_t e : loops) extents.emplace_back(e);
                     const Exprs s = k.folds(extents, [&](const Exprs& j) {
                       Exprs at = j;
                       at.insert(at.begin(), i[0]);
                       const Expr x = k.let(k.load(0, at), "x");
                       const Expr tenth = x * loop::constant(c, 0.1);
                       return std::vector<KernelBuilder::Folded>{
                           {ReduceOp::sum, tenth * tenth},
                           {ReduceOp::max, tenth},
                           {ReduceOp::prod, tenth * loop::constant(c, 1e-4) + loop::constant(c, 1)},
                           {ReduceOp::sum, cast(x, DType::i64)}};
                     });
                     for (int f = 0; f < 3; ++f) k.store(0, {i[0], f}, s[static_cast<size_t>(f)]);
                     k.store(1, i, s[3]);
                   });
                 }));
      const bool in_blocks = n > (loops.back() < 16 ? 64 : 256);
      EXPECT_EQ(text.find("_total") != std::string::npos, in_blocks) << text;
    }
}

// Arms that read outside of the memory in the lanes that don't take them.
TEST(Lanes, ArmsOfColumnsReadWhereTheyAreTaken) {
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                        DType::i16, DType::i8, DType::u8, DType::boolean}) {
    const std::string text = check(kernel(
        {{"x", t, {5, 100}}, {"y", DType::i64, {100}, Access::write}}, [&](KernelBuilder& k) {
          k.parallel({2}, [&](const Exprs& i) {
            const Expr first = k.let(i[0] * Expr(64), "first");
            k.lanes(binary(Op::min, Expr(100) - first, Expr(64)), [&](Expr lane) {
              const Expr at = first + lane;
              const Expr early = binary(Op::lt, at, Expr(90));
              k.store(0, {at}, k.reduce(ReduceOp::sum, {5}, [&](const Exprs& r) {
                const Expr one = k.load(0, {r[0], at + Expr(10)});
                const Expr same = k.load(0, {r[0], Expr(98) + i[0]});
                return cast(select(early, one, cast(Expr(1), one.type())), DType::i64) +
                       cast(select(early, cast(Expr(2), same.type()), same), DType::i64);
              }));
            });
          });
        }));
    EXPECT_NE(text.find("x64_where"), std::string::npos) << text;
  }
}

TEST(Lanes, LongSumsOfColumnsInBlocks) {
  for (const int64_t rows : {64, 65, 1000}) {
    const std::string text =
        check(kernel({{"x", DType::f32, {rows, 3, 70}}, {"y", DType::f32, {2, 70}, Access::write}},
                     [&](KernelBuilder& k) {
                       k.parallel({2}, [&](const Exprs& i) {
                         const Expr first = k.let(i[0] * Expr(64), "first");
                         k.lanes(binary(Op::min, Expr(70) - first, Expr(64)), [&](Expr lane) {
                           const Expr at = first + lane;
                           const Expr some = binary(Op::min, Expr(rows), Expr(1000) - i[0]);
                           const Expr all =
                               k.reduce_loops(ReduceOp::sum, some, {3}, [&](const Exprs& r) {
                                 return k.load(0, {r[0], r[1], at}) * f32(0.1);
                               });
                           k.store(0, {0, at}, all);
                           k.store(0, {1, at}, k.reduce(ReduceOp::sum, {rows}, [&](const Exprs& r) {
                             return k.load(0, {r[0], 1, at}) * f32(0.1);
                           }));
                         });
                       });
                     }));
    EXPECT_NE(text.find("f64x64"), std::string::npos) << text;
  }
}

// A fold over an expression that can't be vectorized: a divided index.
TEST(Lanes, LongSumsOneByOne) {
  check(kernel({{"x", DType::f32, {5000}}, {"y", DType::f32, {3}, Access::write}},
               [](KernelBuilder& k) {
                 k.parallel({3}, [&](const Exprs& i) {
                   k.store(0, i, k.reduce(ReduceOp::sum, {5000}, [&](const Exprs& j) {
                     return k.load(0, {binary(Op::truncdiv, j[0], i[0] + Expr(2))}) * f32(0.1);
                   }));
                 });
               }));
}

TEST(Lanes, FirstFailedIndexIsNamed) {
  for (int64_t bound : {50, 36, 20, 1}) {
    const std::string text =
        check(kernel({{"at", DType::i64, {50}},
                      {"x", DType::f32, {bound}},
                      {"y", DType::f32, {50}, Access::write}},
                     [&](KernelBuilder& k) {
                       k.parallel({50}, [&](const Exprs& i) {
                         k.store(0, i, k.load(1, {k.checked_index(k.load(0, i), bound, "x: at")}));
                       });
                     }));
    EXPECT_TRUE(in_lanes(text)) << text;
  }
}

TEST(Lanes, PhiloxIsTheSameInLanes) {
  const int64_t n = 77;
  const std::string text = check(kernel(
      {{"seed", DType::i64, {2}}, {"at", DType::i64, {n}}, {"y", DType::i64, {n}, Access::write}},
      [&](KernelBuilder& k) {
        k.parallel({n}, [&](const Exprs& i) {
          const Expr seed = (k.load(0, {0}) + Expr(5)) * Expr(0x123456789abcdef);
          k.store(0, i, philox(seed, k.load(0, {1}), Expr(-3), i[0] * Expr(0x7654321)));
        });
      }));
  EXPECT_NE(text.find("philox_i64x16"), std::string::npos) << text;
}

// A scan, and two operands of one storage, run in order.
TEST(Lanes, WhatDependsOnAnotherIterationIsSerial) {
  const std::string scan =
      check(kernel({{"y", DType::f32, {40}, Access::update}}, [&](KernelBuilder& k) {
        k.loop(39, [&](Expr j) {
          k.store(0, {j + Expr(1)}, k.load_result(0, {j}) + k.load_result(0, {j + Expr(1)}));
        });
      }));
  EXPECT_FALSE(in_lanes(scan)) << scan;
  const std::string two = check(
      kernel({{"y", DType::f32, {40}, Access::update}, {"z", DType::f32, {40}, Access::update}},
             [&](KernelBuilder& k) {
               k.loop(40, [&](Expr j) { k.store(0, {j}, k.load_result(1, {j})); });
             }));
  EXPECT_TRUE(in_lanes(two)) << two;  // two buffers are two storages
}

}  // namespace
}  // namespace cleave
