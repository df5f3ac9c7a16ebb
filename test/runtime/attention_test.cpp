// Attention against plain loops in double: every dtype, layout, mask, group and instruction set.
// tests: attention_block.cpp attention_block_plain.cpp attention_block_avx2.cpp
// tests: attention_block_avx512.cpp attention_block_amx.cpp
#include "runtime/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/alloc_watch.h"
#include "runtime/half.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

using Random = std::mt19937;

int64_t pick(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}
bool coin(Random& random) { return pick(random, 0, 1) == 1; }

template <class F>
auto with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::bf16: return f(Bf16{});
    case DType::f16: return f(F16{});
    case DType::boolean: return f(uint8_t{});
    default: return f(float{});
  }
}

double read_element(const std::byte* at, DType dtype) {
  return with_type(dtype, [&](auto x) {
    std::memcpy(&x, at, sizeof x);
    return static_cast<double>(static_cast<float>(x));
  });
}
void write_element(std::byte* at, DType dtype, double value) {
  with_type(dtype, [&](auto x) {
    x = static_cast<decltype(x)>(static_cast<float>(value));
    std::memcpy(at, &x, sizeof x);
  });
}

// Row-major in a random order of the dims, with gaps of NaN; dims of size 1 may be broadcast.
struct Tensor {
  DType dtype = DType::f32;
  std::array<int64_t, 4> shape{};
  HeadStrides at;
  std::vector<std::byte> bytes;

  int64_t position(const std::array<int64_t, 4>& i) const {
    return i[0] * at.batch + i[1] * at.head + i[2] * at.row + i[3] * at.column;
  }
  double operator()(int64_t b, int64_t h, int64_t r, int64_t c) const {
    return read_element(bytes.data() + position({b, h, r, c}) * size_of(dtype), dtype);
  }
};

template <class F>
void for_each(const std::array<int64_t, 4>& shape, const F& f) {
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      for (int64_t r = 0; r < shape[2]; ++r)
        for (int64_t c = 0; c < shape[3]; ++c) f(std::array{b, h, r, c});
}

enum class Layout { plain, any };

Tensor made(Random& random, DType dtype, std::array<int64_t, 4> shape, Layout layout) {
  Tensor t{dtype, shape, {}, {}};
  std::array<int, 4> order = {0, 1, 2, 3};
  if (layout == Layout::any) std::shuffle(order.begin(), order.end(), random);
  int64_t* strides[] = {&t.at.batch, &t.at.head, &t.at.row, &t.at.column};
  int64_t stride = 1;
  for (int k = 3; k >= 0; --k) {
    *strides[order[k]] = stride;
    stride *= shape[order[k]];
    if (layout == Layout::any) stride += pick(random, 0, 2);
  }
  t.bytes.assign(static_cast<size_t>(std::max<int64_t>(stride, 1) * size_of(dtype)),
                 std::byte{0xff});
  std::normal_distribution<double> normal;
  for_each(shape, [&](const auto& i) {
    write_element(t.bytes.data() + t.position(i) * size_of(dtype), dtype,
                  dtype == DType::boolean ? coin(random) : normal(random));
  });
  return t;
}

struct Case {
  AttentionBackwardSpec spec;
  Tensor query, key, value, mask, out, dout, dquery, dkey, dvalue, dmask;
  std::array<int64_t, 2> rng = {0x123456789ab, 77};
};

struct Wish {
  DType dtype = DType::f32;
  int64_t batch = 1, key_heads = 1, group = 1, rows = 1, columns = 1, width = 1, value_width = 1;
  Layout layout = Layout::plain;
  bool is_causal = false;
  std::optional<DType> mask = {};
  double dropout_p = 0;
  enum class MaskGradient { none, each, summed } dmask = MaskGradient::none;
};
using MaskGradient = Wish::MaskGradient;

Case made(Random& random, const Wish& w) {
  Case c;
  const int64_t heads = w.key_heads * w.group;
  c.query = made(random, w.dtype, {w.batch, heads, w.rows, w.width}, w.layout);
  c.key = made(random, w.dtype, {w.batch, w.key_heads, w.columns, w.width}, w.layout);
  c.value = made(random, w.dtype, {w.batch, w.key_heads, w.columns, w.value_width}, w.layout);
  c.out = made(random, w.dtype, {w.batch, heads, w.rows, w.value_width}, w.layout);
  c.dout = made(random, w.dtype, c.out.shape, w.layout);
  c.dquery = made(random, w.dtype, c.query.shape, w.layout);
  c.dkey = made(random, w.dtype, c.key.shape, w.layout);
  c.dvalue = made(random, w.dtype, c.value.shape, w.layout);
  AttentionSpec& f = c.spec.forward;
  f = {.dtype = w.dtype,
       .batch = w.batch,
       .heads = heads,
       .key_group = w.group,
       .value_group = w.group,
       .rows = w.rows,
       .columns = w.columns,
       .width = w.width,
       .value_width = w.value_width,
       .query = c.query.at,
       .key = c.key.at,
       .value = c.value.at,
       .out = c.out.at,
       .sum_rows = w.rows + (w.layout == Layout::any ? 3 : 0),
       .scale = 0.4,
       .is_causal = w.is_causal,
       .mask = w.mask,
       .mask_at = {},
       .dropout_p = w.dropout_p,
       .stream = 9};
  if (w.mask) {
    std::array<int64_t, 4> shape = {w.batch, heads, w.rows, w.columns};
    for (int64_t& size : shape)
      if (size > 0 && coin(random)) size = 1;
    c.mask = made(random, *w.mask, shape, w.layout);
    for_each(shape, [&](const auto& i) {  // closed rows and columns
      if (*w.mask != DType::boolean && (pick(random, 0, 5) == 0 || i[2] == 1))
        write_element(c.mask.bytes.data() + c.mask.position(i) * size_of(*w.mask), *w.mask,
                      -INFINITY);
    });
    f.mask_at = c.mask.at;
    if (shape[0] == 1) f.mask_at.batch = 0;
    if (shape[1] == 1) f.mask_at.head = 0;
    if (shape[2] == 1) f.mask_at.row = 0;
    if (shape[3] == 1) f.mask_at.column = 0;
    c.mask.at = f.mask_at;
  }
  c.spec.dout = c.dout.at;
  c.spec.dquery = c.dquery.at;
  c.spec.dkey = c.dkey.at;
  c.spec.dvalue = c.dvalue.at;
  if (w.dmask == MaskGradient::none) return c;
  const bool is_summed = w.dmask == MaskGradient::summed;
  c.dmask = made(random, DType::f32, {is_summed ? 1 : w.batch, heads, w.rows, w.columns}, w.layout);
  c.spec.wants_dmask = true;
  if (is_summed) c.dmask.at.batch = 0;
  c.spec.dmask = c.dmask.at;
  return c;
}

// Philox 4x32-10, a word at a time.
uint32_t word_of(const Case& c, uint64_t index) {
  uint32_t x[4] = {static_cast<uint32_t>(index / 4), static_cast<uint32_t>(index / 4 >> 32),
                   static_cast<uint32_t>(c.spec.forward.stream), static_cast<uint32_t>(c.rng[1])};
  auto k0 = static_cast<uint32_t>(c.rng[0]), k1 = static_cast<uint32_t>(c.rng[0] >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t a = uint64_t{0xD2511F53u} * x[0], b = uint64_t{0xCD9E8D57u} * x[2];
    x[0] = static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0;
    x[1] = static_cast<uint32_t>(b);
    x[2] = static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1;
    x[3] = static_cast<uint32_t>(a);
  }
  return x[index % 4];
}

struct Numbers {
  std::vector<double> out, sums, dquery, dkey, dvalue, dmask;
};

// In double, except that `out` in the backward is the kernel's own, rounded result.
Numbers plain(const Case& c) {
  const AttentionSpec& f = c.spec.forward;
  const int64_t key_heads = f.heads / f.key_group;
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  Numbers n;
  n.dquery.resize(size(f.batch * f.heads * f.rows * f.width));
  n.dkey.resize(size(f.batch * key_heads * f.columns * f.width));
  n.dvalue.resize(size(f.batch * key_heads * f.columns * f.value_width));
  n.dmask.resize(size(c.dmask.shape[0] * f.heads * f.rows * f.columns));
  for (int64_t b = 0; b < f.batch; ++b)
    for (int64_t h = 0; h < f.heads; ++h)
      for (int64_t i = 0; i < f.rows; ++i) {
        const int64_t kh = h / f.key_group, row = (b * f.heads + h) * f.rows + i;
        std::vector<double> weight(size(f.columns)), keep(weight);
        double top = -INFINITY, sum = 0;
        for (int64_t j = 0; j < f.columns; ++j) {
          double s = 0;
          for (int64_t e = 0; e < f.width; ++e) s += c.query(b, h, i, e) * c.key(b, kh, j, e);
          s *= f.scale;
          if (f.is_causal && j > i) s = -INFINITY;
          if (f.mask == DType::boolean)
            s = c.mask(b, h, i, j) != 0 ? s : -INFINITY;
          else if (f.mask)
            s += c.mask(b, h, i, j);
          weight[size(j)] = s;
          top = std::max(top, s);
        }
        for (double& w : weight) sum += w = top == -INFINITY ? 0 : std::exp(w - top);
        n.sums.push_back(sum == 0 ? 0 : top + std::log(sum));
        std::vector<double> out(size(f.value_width));
        double own = 0;
        for (int64_t j = 0; j < f.columns; ++j) {
          const bool kept =
              f.dropout_p == 0 ||
              (word_of(c, static_cast<uint64_t>(row * f.columns + j)) >> 8) * 0x1p-24 >=
                  f.dropout_p;
          keep[size(j)] = !kept ? 0 : f.dropout_p == 0 ? 1 : 1 / (1 - f.dropout_p);
          if (sum > 0) weight[size(j)] /= sum;
          for (int64_t e = 0; e < f.value_width; ++e)
            out[size(e)] += weight[size(j)] * keep[size(j)] * c.value(b, kh, j, e);
        }
        for (int64_t e = 0; e < f.value_width; ++e) {
          n.out.push_back(out[size(e)]);
          own += c.dout(b, h, i, e) * c.out(b, h, i, e);
        }
        for (int64_t j = 0; j < f.columns; ++j) {
          const int64_t at = (b * key_heads + kh) * f.columns + j;
          double dweight = 0;
          for (int64_t e = 0; e < f.value_width; ++e) {
            dweight += c.dout(b, h, i, e) * c.value(b, kh, j, e) * keep[size(j)];
            n.dvalue[size(at * f.value_width + e)] +=
                weight[size(j)] * keep[size(j)] * c.dout(b, h, i, e);
          }
          const double dmask = weight[size(j)] * (dweight - own), dscore = dmask * f.scale;
          if (c.spec.wants_dmask)
            n.dmask[size((row - (c.spec.sums_dmask() ? b * f.heads * f.rows : 0)) * f.columns +
                         j)] += dmask;
          for (int64_t e = 0; e < f.width; ++e) {
            n.dquery[size(row * f.width + e)] += dscore * c.key(b, kh, j, e);
            n.dkey[size(at * f.width + e)] += dscore * c.query(b, h, i, e);
          }
        }
      }
  return n;
}

// Scratch of NaN, with a guard after it.
class Scratch {
 public:
  explicit Scratch(int64_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 64)))) {
    std::memset(data_, 0xff, static_cast<size_t>(bytes));
    std::memset(data_ + bytes, 0x77, 64);
  }
  ~Scratch() {
    for (int i = 0; i < 64; ++i) EXPECT_EQ(data_[bytes_ + i], std::byte{0x77}) << "overrun";
    std::free(data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* data() { return data_; }

 private:
  const int64_t bytes_;
  std::byte* const data_;
};

// Runs forward and backward, into c.out and the gradients; returns the logsumexp.
std::vector<float> run(Case& c, const AttentionKernel& kernel, Executor& executor) {
  const AttentionSpec& f = c.spec.forward;
  const auto forward = value_or_throw(Attention::make(f, kernel));
  const auto backward = value_or_throw(AttentionGradient::make(c.spec, kernel));
  std::vector<float> sums(static_cast<size_t>(f.batch * f.heads * f.sum_rows), NAN);
  const AttentionOperands in{c.query.bytes.data(), c.key.bytes.data(), c.value.bytes.data(),
                             c.mask.bytes.data(),  &c.rng[0],          &c.rng[1]};
  EXPECT_EQ(forward->scratch_bytes() % 64, 0);
  EXPECT_EQ(backward->scratch_bytes() % 64, 0);
  Scratch first(forward->scratch_bytes()), second(backward->scratch_bytes());
  forward->run({in, c.out.bytes.data(), sums.data()}, first.data(), executor);
  backward->run(
      {in, c.out.bytes.data(), sums.data(), c.dout.bytes.data(), c.dquery.bytes.data(),
       c.dkey.bytes.data(), c.dvalue.bytes.data(), reinterpret_cast<float*>(c.dmask.bytes.data())},
      second.data(), executor);
  return sums;
}

// Whether all differences from `want` are within `tolerance` times the largest element.
void expect_near(const char* name, const Tensor& got, const std::vector<double>& want,
                 double tolerance) {
  double largest = 1;
  for (double x : want) largest = std::max(largest, std::fabs(x));
  size_t k = 0;
  double worst = 0;
  for_each(got.shape, [&](const auto& i) {
    const double off = std::fabs(got(i[0], i[1], i[2], i[3]) - want[k++]);
    worst = off <= worst ? worst : off;  // a NaN stays
  });
  EXPECT_LE(worst, tolerance * largest) << name;
}

// In f32 the errors of dP and of its mean, which cancel, are summed over all rows.
double tolerance_of(DType dtype) {
  return dtype == DType::f32 ? 2e-5 : dtype == DType::f16 ? 2e-3 : 1e-2;
}

// The growth of a sum's independent rounding errors beyond a hundred terms.
double growth(int64_t terms) { return std::max(1.0, std::sqrt(static_cast<double>(terms) / 100)); }

void check(Random& random, const Wish& wish, const AttentionKernel& kernel) {
  Case c = made(random, wish);
  const auto one = make_thread_pool(1), two = make_thread_pool(2);
  const std::vector<float> sums = run(c, kernel, *one);
  const Numbers want = plain(c);
  const double tolerance = tolerance_of(wish.dtype);
  expect_near("out", c.out, want.out, tolerance);
  const AttentionSpec& f = c.spec.forward;
  expect_near("dquery", c.dquery, want.dquery, tolerance * growth(f.columns));
  expect_near("dkey", c.dkey, want.dkey, tolerance * growth(f.key_group * f.rows));
  expect_near("dvalue", c.dvalue, want.dvalue, tolerance);
  expect_near("dmask", c.dmask, want.dmask, tolerance);
  for (int64_t n = 0; n < f.batch * f.heads; ++n)
    for (int64_t i = 0; i < f.sum_rows; ++i) {
      const double sum = i < f.rows ? want.sums[static_cast<size_t>(n * f.rows + i)] : 0;
      EXPECT_NEAR(sums[static_cast<size_t>(n * f.sum_rows + i)], sum, 1e-5 * (1 + std::fabs(sum)));
    }
  Case again = c;
  EXPECT_EQ(run(again, kernel, *two), sums);
  EXPECT_EQ(again.out.bytes, c.out.bytes);
  EXPECT_EQ(again.dquery.bytes, c.dquery.bytes);
  EXPECT_EQ(again.dkey.bytes, c.dkey.bytes);
  EXPECT_EQ(again.dvalue.bytes, c.dvalue.bytes);
  EXPECT_EQ(again.dmask.bytes, c.dmask.bytes);
}

std::vector<AttentionKernel> kernels(DType dtype) {
  std::vector<AttentionKernel> all;
  for (const Target& target : cleave::test::targets_here())
    if (target.set <= InstructionSet::avx512 ||
        (target.set == InstructionSet::amx && dtype == DType::bf16 && !target.is_native))
      all.push_back(attention_kernel(dtype, target.set));
  return all;
}

std::string text(const Wish& w) {
  return fmt::format("{} batch {} heads {}x{} [{}, {}] width {} {} causal {} mask {} dropout {}",
                     name_of(w.dtype), w.batch, w.key_heads, w.group, w.rows, w.columns, w.width,
                     w.value_width, w.is_causal, w.mask ? name_of(*w.mask) : "none", w.dropout_p) +
         (w.dmask == MaskGradient::none   ? ""
          : w.dmask == MaskGradient::each ? " dmask"
                                          : " dmask summed");
}

TEST(Attention, RandomShapes) {
  Random random(3);
  for (int round = 0; round < 40; ++round) {
    Wish w;
    w.dtype = std::array{DType::f32, DType::f32, DType::bf16, DType::f16}[pick(random, 0, 3)];
    w.batch = pick(random, 1, 2);
    w.key_heads = pick(random, 1, 3);
    w.group = pick(random, 1, 3);
    w.rows = pick(random, 1, coin(random) ? 9 : 150);
    w.columns = pick(random, 0, coin(random) ? 9 : 250);
    w.width = pick(random, 1, 70);
    w.value_width = coin(random) ? w.width : pick(random, 1, 70);
    w.layout = coin(random) ? Layout::any : Layout::plain;
    w.is_causal = coin(random);
    if (coin(random)) w.mask = std::array{DType::boolean, DType::f32, w.dtype}[pick(random, 0, 2)];
    if (pick(random, 0, 2) == 0) w.dropout_p = 0.3;
    SCOPED_TRACE(text(w));
    for (const AttentionKernel& kernel : kernels(w.dtype)) {
      Random same = random;  // whatever kernels this machine has
      check(same, w, kernel);
    }
  }
}

TEST(Attention, ManyBlocksOfKeysAndPiecesOfAHead) {
  Random random(4);
  for (const bool is_causal : {false, true})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const AttentionKernel& kernel : kernels(dtype))
        check(random,
              {.dtype = dtype,
               .rows = 130,
               .columns = 500,
               .width = 64,
               .value_width = 32,
               .is_causal = is_causal},
              kernel);
}

TEST(Attention, GradientOfTheMask) {
  Random random(9);
  for (int round = 0; round < 30; ++round) {
    Wish w;
    w.dtype = std::array{DType::f32, DType::f32, DType::bf16, DType::f16}[pick(random, 0, 3)];
    w.batch = pick(random, 1, coin(random) ? 4 : 40);  // sums of up to 16 are in f32
    w.key_heads = pick(random, 1, 3);
    w.group = pick(random, 1, 2);
    w.rows = pick(random, 1, coin(random) ? 9 : 80);
    w.columns = pick(random, 1, w.batch > 4 ? 40 : 450);
    w.width = pick(random, 1, 40);
    w.value_width = coin(random) ? w.width : pick(random, 1, 40);
    w.layout = coin(random) ? Layout::any : Layout::plain;
    w.is_causal = coin(random);
    w.mask = std::array{DType::f32, w.dtype}[pick(random, 0, 1)];
    if (pick(random, 0, 2) == 0) w.dropout_p = 0.3;
    w.dmask = coin(random) ? MaskGradient::each : MaskGradient::summed;
    SCOPED_TRACE(text(w));
    for (const AttentionKernel& kernel : kernels(w.dtype)) {
      Random same = random;
      check(same, w, kernel);
    }
  }
}

TEST(Attention, NoRowsAndNoColumns) {
  Random random(5);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const AttentionKernel& kernel : kernels(dtype))
      for (Wish w : {Wish{.rows = 0, .columns = 5},
                     {.rows = 5, .columns = 0},
                     {.batch = 0, .rows = 5, .columns = 5}}) {
        w.dtype = dtype;
        w.width = w.value_width = 4;
        check(random, w, kernel);
      }
}

// Scores of very different size: exp must be relative to the running maximum.
TEST(Attention, LargeScores) {
  Random random(6);
  Case c = made(random, {.rows = 40, .columns = 700, .width = 8, .value_width = 8});
  for (Tensor* t : {&c.query, &c.key})
    for_each(t->shape, [&](const auto& i) {
      std::byte* at = t->bytes.data() + t->position(i) * 4;
      write_element(at, DType::f32, 20 * read_element(at, DType::f32));
    });
  const auto pool = make_thread_pool(2);
  run(c, attention_kernel(DType::f32, Target::here().set), *pool);
  const Numbers want = plain(c);
  expect_near("out", c.out, want.out, 1e-3);  // scores of 1000 have errors of 1e-4
  expect_near("dkey", c.dkey, want.dkey, 1e-3);
}

TEST(Attention, NaNReachesItsRowAlone) {
  const auto pool = make_thread_pool(1);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const AttentionKernel& kernel : kernels(dtype)) {
      Random random(7);
      Case c =
          made(random, {.dtype = dtype, .rows = 5, .columns = 6, .width = 4, .value_width = 4});
      write_element(c.query.bytes.data() + 2 * 4 * size_of(dtype), dtype, NAN);
      const std::vector<float> sums = run(c, kernel, *pool);
      for (int64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(std::isnan(c.out(0, 0, i, 1)), i == 2);
        EXPECT_EQ(std::isnan(sums[static_cast<size_t>(i)]), i == 2);
        EXPECT_EQ(std::isnan(c.dquery(0, 0, i, 1)), i == 2);
      }
    }
}

TEST(Attention, AllocatesNothing) {
  if (!AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  Random random(8);
  Case c = made(random, {.key_heads = 3,
                         .rows = 70,
                         .columns = 300,
                         .width = 16,
                         .value_width = 16,
                         .dropout_p = 0.1});
  const auto forward = value_or_throw(Attention::make(c.spec.forward, Target::here()));
  const auto backward = value_or_throw(AttentionGradient::make(c.spec, Target::here()));
  std::vector<float> sums(3 * 70);
  const AttentionOperands in{c.query.bytes.data(),
                             c.key.bytes.data(),
                             c.value.bytes.data(),
                             nullptr,
                             &c.rng[0],
                             &c.rng[1]};
  Scratch scratch(std::max(forward->scratch_bytes(), backward->scratch_bytes()));
  const auto pool = make_thread_pool(2);
  const auto step = [&] {
    forward->run({in, c.out.bytes.data(), sums.data()}, scratch.data(), *pool);
    backward->run({in, c.out.bytes.data(), sums.data(), c.dout.bytes.data(), c.dquery.bytes.data(),
                   c.dkey.bytes.data(), c.dvalue.bytes.data()},
                  scratch.data(), *pool);
  };
  step();
  AllocWatch watch;
  watch.start();
  step();
  EXPECT_EQ(watch.stop().allocations, 0);
}

TEST(Attention, RefusesWhatItDoesNotCover) {
  EXPECT_EQ(Attention::make({.dtype = DType::f64}, Target::here()).failure().kind,
            ErrorKind::unsupported);
  EXPECT_EQ(Attention::make({.rows = -1}, Target::here()).failure().kind, ErrorKind::bug);
  EXPECT_EQ(Attention::make({.heads = 4, .key_group = 3}, Target::here()).failure().kind,
            ErrorKind::bug);
}

}  // namespace
}  // namespace cleave::runtime
