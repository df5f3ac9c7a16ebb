// Hand-written kernels, parsed and run as bytecode, in one piece and in several.
// tests: instruction.cpp
#include <gtest/gtest.h>

#include <cstring>

#include "emit/bytecode.h"
#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::emit {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

// A kernel and memory for its arguments.
class TextKernel {
 public:
  explicit TextKernel(const std::string& text)
      : kernel_(schedule::schedule(value_or_throw(loop::parse_kernel(text, "t")))),
        code_(emit_bytecode(kernel_)) {
    value_or_throw(loop::verify(kernel_));
    for (const loop::Buffer& b : kernel_.buffers)
      memory_.emplace_back(static_cast<size_t>(b.elements * size_of(b.dtype)));
  }

  template <class T>
  void set(const std::string& buffer, const std::vector<T>& values) {
    std::vector<std::byte>& to = memory(buffer);
    ASSERT_EQ(to.size(), values.size() * sizeof(T)) << buffer;
    std::memcpy(to.data(), values.data(), to.size());
  }
  Floats floats(const std::string& buffer) {
    const std::vector<std::byte>& from = memory(buffer);
    Floats out(from.size() / sizeof(float));
    std::memcpy(out.data(), from.data(), from.size());
    return out;
  }

  // The message of a failed check, with the index and its bound; empty if all hold. A parallel loop
  // is run in pieces of `piece` iterations.
  std::string run(const Integers& scalars = {}, int64_t piece = 1 << 20) {
    std::vector<void*> buffers;
    for (size_t i = 0; i < memory_.size(); ++i)
      if (kernel_.buffers[i].access != loop::Access::local) buffers.push_back(memory_[i].data());
    for (const BytecodePhase& phase : code_.phases)
      for (int64_t begin = 0; begin < phase.extent; begin += piece) {
        int64_t fault[2] = {0, 0};
        const int64_t failed = phase.code->run(buffers.data(), scalars.data(), begin,
                                               std::min(begin + piece, phase.extent), fault);
        if (failed)
          return fmt::format("{} {} of {}", code_.checks[static_cast<size_t>(failed - 1)].message,
                             fault[0], fault[1]);
      }
    return "";
  }

 private:
  std::vector<std::byte>& memory(const std::string& name) {
    size_t i = 0;
    while (kernel_.buffers[i].name != name) ++i;
    return memory_[i];
  }

  loop::Kernel kernel_;
  BytecodeKernel code_;
  std::vector<std::vector<std::byte>> memory_;
};

TEST(RunText, elementwise) {
  TextKernel k(R"(
    kernel %y(%x: f32[6] read, %h: bf16[6] write, %y: f32[6] update, step: scalar) {
      for p in 6 parallel {
        let t = %x[5 - p]*2.0
        let r = select(lt(t, 0.0), 0.0, t)
        %h[p] = r
        %y[p] = %y[p] + r + f32(step)
      }
    })");
  k.set("x", Floats{-3, -2, -1, 1, 2, 3});
  k.set("y", Floats{10, 20, 30, 40, 50, 60});
  EXPECT_EQ(k.run({100}, 4), "");
  EXPECT_EQ(k.floats("y"), (Floats{116, 124, 132, 140, 150, 160}));
}

// y = x / sqrt(sum of squares), over rows that are kept in local memory.
TEST(RunText, row_reduction) {
  TextKernel k(R"(
    kernel %y(%x: f32[40] read, %y: f32[40] write, %n: f32[2] write, %row: f32[20] local) {
      for p in 2 parallel {
        fold over j in 20 {
          let t = %x[p*20 + j]
          %row[j] = t
          s = sum of t*t
          top = max of t
        }
        let r = rsqrt(s)
        for j in 20 independent { %y[p*20 + j] = %row[j]*r }
        %n[p] = top
      }
    })");
  Floats x(40, 0), want(40, 0);
  x[1] = 3, x[19] = 4, x[25] = 5, x[30] = 12;
  want[1] = 0.6f, want[19] = 0.8f, want[25] = 5.0f / 13, want[30] = 12.0f / 13;
  k.set("x", x);
  for (const int64_t piece : {2, 1}) {
    EXPECT_EQ(k.run({}, piece), "");
    const Floats y = k.floats("y");
    for (size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], want[i]) << i;
    EXPECT_EQ(k.floats("n"), (Floats{4, 12}));
  }
}

TEST(RunText, gather_names_the_index_that_fails) {
  TextKernel k(R"(
    kernel %y(%table: f32[6] read, %i: i64[3] read, %y: f32[6] write) {
      for p in 3 parallel {
        let at = %i[p]
        check logical_and(ge(at, -3), lt(at, 3)) "embedding: indices" index at bound 3
        let row = select(lt(at, 0), at + 3, at)
        for j in 2 { %y[p*2 + j] = %table[row*2 + j] }
      }
    })");
  k.set("table", Floats{0, 1, 10, 11, 20, 21});
  k.set("i", Integers{2, 0, -2});
  EXPECT_EQ(k.run(), "");
  EXPECT_EQ(k.floats("y"), (Floats{20, 21, 0, 1, 10, 11}));
  k.set("i", Integers{2, 3, -4});
  EXPECT_EQ(k.run(), "embedding: indices 3 of 3");
}

// Column sums in two parts of three rows each, then the parts added in their order.
TEST(RunText, column_reduction_in_parts) {
  TextKernel k(R"(
    kernel %s(%x: f32[24] read, %part: f32[8] update, %s: f32[4] write) work 24 {
      for p in 2 parallel {
        for c in 4 lanes {
          fold over r in 3 { sum0 = sum of %x[(p*3 + r)*4 + c] }
          %part[p*4 + c] = sum0
        }
      }
      for b in 1 parallel {
        for c in 4 lanes {
          fold over p in 2 { total = sum of %part[p*4 + (b*4 + c)] }
          %s[b*4 + c] = total
        }
      }
    })");
  Floats x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  k.set("x", x);
  for (const int64_t piece : {2, 1}) {
    EXPECT_EQ(k.run({}, piece), "");
    EXPECT_EQ(k.floats("part"), (Floats{12, 15, 18, 21, 48, 51, 54, 57}));
    EXPECT_EQ(k.floats("s"), (Floats{60, 66, 72, 78}));
  }
}

// 18 numbers whose sum depends on the order of additions: 16 lanes, then pairs of lanes.
TEST(RunText, a_fold_has_sixteen_lanes) {
  TextKernel k(R"(
    kernel %s(%x: f32[18] read, %s: f32[2] write) {
      fold over j in 18 { s = sum of %x[j] }
      var plain = 0.0
      for j in 18 { plain = plain + %x[j] }
      %s[0] = s
      %s[1] = plain
    })");
  Floats x(18, 1);
  x[0] = 16777216, x[16] = 1;  // adding 1 is lost, adding 2 isn't
  k.set("x", x);
  EXPECT_EQ(k.run(), "");
  const Floats s = k.floats("s");
  EXPECT_EQ(s[1], 16777216);
  // The lanes: 2^24 + 1 (lost), 1 + 1, and fourteen of 1.
  EXPECT_EQ(s[0], 16777216 + 16);
}

}  // namespace
}  // namespace cleave::emit
