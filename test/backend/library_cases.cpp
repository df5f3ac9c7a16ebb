#include "test/backend/library_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "cleave/executor.h"
#include "run/run_context.h"
#include "runtime/half.h"
#include "runtime/library.h"

namespace cleave::test {
namespace {

using runtime::Bf16, runtime::F16;

int64_t pick(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}
bool coin(Random& random) { return pick(random, 0, 1) == 1; }
template <class T, size_t n>
T one_of(Random& random, const T (&of)[n]) {
  return of[pick(random, 0, n - 1)];
}

template <class F>
auto with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f64: return f(double{});
    case DType::bf16: return f(Bf16{});
    case DType::f16: return f(F16{});
    case DType::i64: return f(int64_t{});
    case DType::i32: return f(int32_t{});
    case DType::i16: return f(int16_t{});
    case DType::i8: return f(int8_t{});
    case DType::u8:
    case DType::boolean: return f(uint8_t{});
    default: return f(float{});
  }
}

double read(const std::byte* at, DType dtype) {
  return with_type(dtype, [&](auto x) {
    std::memcpy(&x, at, sizeof x);
    if constexpr (sizeof x == 2 && !std::is_integral_v<decltype(x)>)
      return static_cast<double>(static_cast<float>(x));
    else
      return static_cast<double>(x);
  });
}
void write(std::byte* at, DType dtype, double value) {
  with_type(dtype, [&](auto x) {
    using T = decltype(x);
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(static_cast<int64_t>(value));
    else if constexpr (sizeof(T) == 8)
      x = value;
    else
      x = static_cast<T>(static_cast<float>(value));
    std::memcpy(at, &x, sizeof x);
  });
}

double number(Random& random, DType dtype) {
  if (dtype == DType::boolean) return coin(random);
  if (is_integer(dtype)) return static_cast<double>(pick(random, dtype == DType::u8 ? 0 : -50, 50));
  return std::normal_distribution<double>()(random);
}

// So many elements from the pointer on, drawn, at any offset that elements may have, or at none.
CaseOperand operand(Random& random, DType dtype, int64_t elements, bool is_written = false,
                    bool is_aligned = false) {
  CaseOperand out{.dtype = dtype, .bytes = {}, .is_there = true, .is_written = is_written};
  if (!is_aligned && coin(random)) out.offset = pick(random, 0, 5) * size_of(dtype);
  elements += out.offset / size_of(dtype);
  out.bytes.resize(static_cast<size_t>(std::max<int64_t>(elements, 1) * size_of(dtype)));
  for (int64_t i = 0; i < elements; ++i)
    write(out.bytes.data() + i * size_of(dtype), dtype, number(random, dtype));
  return out;
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-13;
    case DType::f32: return 3e-6;
    case DType::bf16: return 8e-3;
    case DType::f16: return 1e-3;
    default: return 0;
  }
}

void* pointer(CaseOperand& o) { return o.is_there ? o.bytes.data() + o.offset : nullptr; }

// --- Products ------------------------------------------------------------------------------------

// Of a matrix [batch, rows, columns] in a random layout, in elements; `extent` is one matrix's.
struct Strides {
  int64_t batch, row, col, extent;
};
Strides strides(Random& random, int64_t batch, int64_t rows, int64_t columns) {
  Strides s{};
  switch (pick(random, 0, 7)) {
    case 0:
    case 1:
    case 2: s.row = columns + (coin(random) ? pick(random, 0, 9) : 0), s.col = 1; break;
    case 3:
    case 4: s.row = 1, s.col = rows + (coin(random) ? pick(random, 0, 9) : 0); break;
    case 5: s.row = 3 * columns + 1, s.col = 3; break;
    case 6: s.row = 0, s.col = 1; break;
    default: s.row = 1, s.col = 0;
  }
  s.extent = rows * s.row + columns * s.col + 1;
  s.batch = batch > 1 && pick(random, 0, 3) == 0 ? 0 : s.extent;
  return s;
}

std::optional<DType> stored_type(Random& random, DType dtype) {
  std::optional<DType> out;
  const DType stored = one_of(random, {DType::i8, DType::u8, DType::bf16, DType::f16, DType::f32});
  if (pick(random, 0, 2) == 0 && stored != dtype && gemm_reads_as(stored, dtype)) out = stored;
  return out;
}

}  // namespace

LibraryCase gemm_case(Random& random) {
  LibraryCase c;
  GemmSpec s;
  s.dtype =
      one_of(random, {DType::f64, DType::f32, DType::f32, DType::f32, DType::bf16, DType::bf16,
                      DType::f16, DType::i64, DType::i32, DType::i16, DType::i8, DType::u8});
  s.batch = coin(random) ? 1 : pick(random, 1, 4);
  const int64_t most = coin(random) ? 9 : 90;
  s.m = pick(random, 1, most), s.n = pick(random, 1, most), s.k = pick(random, 0, 2 * most);
  const bool is_float = is_floating(s.dtype);
  s.a_stored = stored_type(random, s.dtype);
  s.b_stored = coin(random) && s.a_stored ? s.a_stored : stored_type(random, s.dtype);
  const int64_t kind = pick(random, 0, 11);
  if (kind == 0 && s.dtype == DType::f32) {
    s.scales_sums = true;
    s.a_stored = s.b_stored = DType::i8;
  } else if (kind == 1 && is_float && s.dtype != DType::f64) {
    s.b_is_nibbles = true, s.batch = 1, s.k += s.k % 2, s.b_stored.reset();
  } else if (kind == 2 && s.dtype == DType::f32) {
    s.b_packed = true, s.batch = 1, s.b_stored.reset();
  }
  using At = GemmOperand;
  const Strides a = strides(random, s.batch, s.m, s.k);
  const int64_t b_rows = s.b_is_nibbles ? s.k / 2 : s.k;
  const Strides b = strides(random, s.batch, b_rows, s.n);
  s.a_batch = a.batch, s.a_row = a.row, s.a_col = a.col;
  s.b_batch = b.batch, s.b_row = b.row, s.b_col = b.col;
  c.operands[At::a] = operand(random, s.a_stored.value_or(s.dtype), s.batch * a.extent);
  const int64_t panels = (s.n + gemm_panel - 1) / gemm_panel;
  c.operands[At::b] = operand(random, s.b_is_nibbles ? DType::u8 : s.b_stored.value_or(s.dtype),
                              s.b_packed ? panels * s.k * gemm_panel : s.batch * b.extent);
  if (s.has_c_in = coin(random); s.has_c_in) {
    Strides in = strides(random, s.batch, s.m, s.n);
    if (coin(random)) in = {0, 0, 1, s.n};
    s.c_in_batch = in.batch, s.c_in_row = in.row, s.c_in_col = in.col;
    c.operands[At::c_in] = operand(random, s.dtype, s.batch * in.extent);
    if (coin(random) && !s.scales_sums) s.beta = is_float ? one_of(random, {2.0, -0.5, 0.25}) : 3;
  }
  if (coin(random)) s.alpha = is_float ? one_of(random, {2.0, -0.5, 0.125}) : -2;
  for (size_t k = 0; s.scales_sums && k < 2; ++k)
    if (coin(random)) {
      const bool by_row = coin(random);
      s.scales[k] = {true, by_row ? 1 : 0, by_row ? 0 : 1};
      c.operands[At::scale + k] = operand(random, DType::f32, std::max(s.m, s.n));
    }
  int64_t c_elements = s.batch * s.m * s.n;
  if (coin(random)) {
    s.c_row = s.n + pick(random, 0, 7);
    s.c_batch = s.m * s.c_row + pick(random, 0, 5);
    c_elements = s.batch * s.c_batch;
  }
  c.operands[At::c] = operand(random, s.dtype, c_elements, true);
  c.spec = s;
  c.tolerance = tolerance_of(s.dtype);
  c.text = fmt::format(
      "{} {} x [{}, {}, {}] A {} {} {} {} B {} {} {} {} c_in {} {} {} {} alpha {} beta {} scaled "
      "{} "
      "nibbles {} packed {} c {} {}",
      name_of(s.dtype), s.batch, s.m, s.k, s.n, name_of(s.a_stored.value_or(s.dtype)), s.a_batch,
      s.a_row, s.a_col, name_of(s.b_stored.value_or(s.dtype)), s.b_batch, s.b_row, s.b_col,
      s.has_c_in, s.c_in_batch, s.c_in_row, s.c_in_col, s.alpha, s.beta, s.scales_sums,
      s.b_is_nibbles, s.b_packed, s.c_batch, s.c_row);
  return c;
}

// --- Attention -----------------------------------------------------------------------------------

namespace {

using Shape4 = std::array<int64_t, 4>;

// Of [batch, head, row, column], packed in a random order of the dims, with gaps or without.
struct Layout4 {
  HeadStrides at;
  int64_t elements = 1;
};
Layout4 layout(Random& random, const Shape4& shape, bool is_plain) {
  std::array<size_t, 4> order = {0, 1, 2, 3};
  if (!is_plain) std::shuffle(order.begin(), order.end(), random);
  Layout4 out;
  int64_t* strides[] = {&out.at.batch, &out.at.head, &out.at.row, &out.at.column};
  for (size_t k = 4; k-- > 0;) {
    *strides[order[k]] = out.elements;
    out.elements *= shape[order[k]];
    if (!is_plain) out.elements += pick(random, 0, 2);
  }
  return out;
}

void add_any(Random& random, LibraryCase& c, size_t position, DType dtype, const Shape4& shape,
             bool is_plain, bool is_written, HeadStrides& at) {
  const Layout4 l = layout(random, shape, is_plain);
  at = l.at;
  c.operands[position] = operand(random, dtype, l.elements, is_written);
}

// Of a bf16 or f16 call as libraries take them: [batch, row, head, column] in memory.
void add_packed(Random& random, LibraryCase& c, size_t position, DType dtype, const Shape4& shape,
                bool is_written, HeadStrides& at) {
  const int64_t row = shape[1] * shape[3] + 8 * pick(random, 0, 2);
  at = {shape[2] * row, shape[3], row, 1};
  c.operands[position] = operand(random, dtype, shape[0] * shape[2] * row, is_written, true);
}
bool is_packed(const AttentionSpec& s) {
  return s.dtype != DType::f32 && s.width % 8 == 0 && s.value_width % 8 == 0 && s.rows > 1 &&
         s.columns > 1;
}

int64_t pointer_number(LibraryCase& c, size_t position) {
  int64_t x = 0;
  std::memcpy(&x, pointer(c.operands[position]), sizeof x);
  return x;
}

}  // namespace

LibraryCase odd_gemm_case(Random& random) {
  LibraryCase c;
  GemmSpec s;
  const DType half = coin(random) ? DType::bf16 : DType::f16;
  s.dtype = pick(random, 0, 3) == 0 ? DType::f32 : half;
  if (s.dtype != half) s.a_stored = s.b_stored = half;
  s.m = pick(random, 1, 40), s.n = pick(random, 1, 40), s.k = pick(random, 1, 40);
  const auto lines = [](int64_t width) { return (width + 7) / 8 * 8; };
  // The row and col of a matrix in whole lines, by rows or by columns; its elements.
  const auto place = [&](int64_t rows, int64_t columns, int64_t& row, int64_t& col) {
    const bool by_rows = coin(random);
    row = by_rows ? lines(columns) : 1, col = by_rows ? 1 : lines(rows);
    return by_rows ? rows * row : columns * col;
  };
  using At = GemmOperand;
  c.operands[At::a] = operand(random, half, place(s.m, s.k, s.a_row, s.a_col));
  c.operands[At::b] = operand(random, half, place(s.k, s.n, s.b_row, s.b_col));
  if (s.has_c_in = pick(random, 0, 2) == 0; s.has_c_in) {
    int64_t elements = place(s.m, s.n, s.c_in_row, s.c_in_col);
    if (coin(random)) s.c_in_row = 0, s.c_in_col = 1, elements = s.n;
    c.operands[At::c_in] = operand(random, s.dtype, elements);
    if (coin(random)) s.beta = -0.5;
  }
  if (coin(random)) s.alpha = 0.125;
  s.c_row = lines(s.n), s.c_batch = s.m * s.c_row;
  c.operands[At::c] = operand(random, s.dtype, s.c_batch, true);
  c.spec = s;
  c.tolerance = tolerance_of(half);
  c.text = fmt::format("odd gemm {} [{}, {}, {}]", name_of(s.dtype), s.m, s.n, s.k);
  return c;
}

void fill(CaseOperand& x, DType dtype, double value) {
  const auto size = static_cast<size_t>(size_of(dtype));
  for (size_t i = static_cast<size_t>(x.offset); i + size <= x.bytes.size(); i += size)
    write(x.bytes.data() + i, dtype, value);
}

bool is_finite(const CaseOperand& x, DType dtype) {
  const auto size = static_cast<size_t>(size_of(dtype));
  for (size_t i = static_cast<size_t>(x.offset); i + size <= x.bytes.size(); i += size)
    if (!std::isfinite(read(x.bytes.data() + i, dtype))) return false;
  return true;
}

// A row of the first batch and head in which no key is open.
void close_row(CaseOperand& mask, const AttentionSpec& s, int64_t row) {
  const bool is_bool = *s.mask == DType::boolean;
  for (int64_t j = 0; j < s.columns; ++j) {
    const int64_t at = row * s.mask_at.row + j * s.mask_at.column;
    write(mask.bytes.data() + mask.offset + at * size_of(*s.mask), *s.mask,
          is_bool ? 0 : -INFINITY);
  }
}

LibraryCase attention_case(Random& random) {
  LibraryCase c;
  AttentionSpec s;
  using At = AttentionOperand;
  s.dtype = one_of(random, {DType::f32, DType::f32, DType::bf16, DType::f16});
  s.batch = pick(random, 1, 3);
  s.key_group = s.value_group = pick(random, 1, 3);
  const int64_t key_heads = pick(random, 1, 2);
  s.heads = key_heads * s.key_group;
  s.rows = pick(random, 1, coin(random) ? 9 : 90);
  s.columns = pick(random, 0, coin(random) ? 9 : 150);
  s.width = pick(random, 1, 70);
  s.value_width = coin(random) ? s.width : pick(random, 1, pick(random, 0, 5) == 0 ? 200 : 70);
  if (pick(random, 0, 5) == 0) {
    s.dtype = coin(random) ? DType::bf16 : DType::f16;
    s.rows = pick(random, 2, 130), s.columns = pick(random, 2, 200);
    s.width = 8 * pick(random, 1, 8), s.value_width = coin(random) ? s.width : 64;
  }
  const bool is_plain = coin(random);
  const auto add = [&](size_t position, DType dtype, const Shape4& shape, bool is_written,
                       HeadStrides& at) {
    if (is_packed(s) && position != At::mask)
      add_packed(random, c, position, dtype, shape, is_written, at);
    else
      add_any(random, c, position, dtype, shape, is_plain, is_written, at);
  };
  add(At::query, s.dtype, {s.batch, s.heads, s.rows, s.width}, false, s.query);
  add(At::key, s.dtype, {s.batch, key_heads, s.columns, s.width}, false, s.key);
  add(At::value, s.dtype, {s.batch, key_heads, s.columns, s.value_width}, false, s.value);
  add(At::out, s.dtype, {s.batch, s.heads, s.rows, s.value_width}, true, s.out);
  s.sum_rows = s.rows + (coin(random) && !is_packed(s) ? 3 : 0);
  c.operands[At::logsumexp] =
      operand(random, DType::f32, s.batch * s.heads * s.sum_rows, true, is_packed(s));
  s.scale = 0.4, s.is_causal = coin(random);
  if (coin(random)) {
    s.mask = one_of(random, {DType::boolean, DType::f32, s.dtype});
    if (is_packed(s)) s.is_causal = pick(random, 0, 4) == 0;
    Shape4 shape = {s.batch, s.heads, s.rows, s.columns};
    for (int64_t& size : shape)
      if (size > 0 && coin(random)) size = 1;
    add(At::mask, *s.mask, shape, false, s.mask_at);
    if (shape[0] == 1) s.mask_at.batch = 0;
    if (shape[1] == 1) s.mask_at.head = 0;
    if (shape[2] == 1) s.mask_at.row = 0;
    if (shape[3] == 1) s.mask_at.column = 0;
    CaseOperand& mask = c.operands[At::mask];
    for (size_t i = 0; *s.mask != DType::boolean && i < mask.bytes.size();
         i += static_cast<size_t>(size_of(*s.mask)))
      if (pick(random, 0, 4) == 0) write(mask.bytes.data() + i, *s.mask, -INFINITY);
    if (coin(random) && mask.is_there) close_row(mask, s, shape[2] - 1);
  }
  if (pick(random, 0, 2) == 0) s.dropout_p = is_packed(s) ? 0 : 0.3, s.stream = 9;
  for (const size_t at : {At::seed, At::step}) c.operands[at] = operand(random, DType::i64, 1);
  c.spec = s;
  c.tolerance = s.dtype == DType::f32 ? 2e-5 : s.dtype == DType::f16 ? 2e-3 : 1e-2;
  c.text = fmt::format(
      "attention {} batch {} heads {}x{} [{}, {}] width {} {} plain {} causal {} mask {} dropout "
      "{} "
      "rng {} {}",
      name_of(s.dtype), s.batch, key_heads, s.key_group, s.rows, s.columns, s.width, s.value_width,
      is_plain, s.is_causal, s.mask ? name_of(*s.mask) : "none", s.dropout_p,
      pointer_number(c, At::seed), pointer_number(c, At::step));
  return c;
}

LibraryCase attention_gradient_case(Random& random) {
  LibraryCase c = attention_case(random);
  AttentionBackwardSpec s;
  using At = AttentionOperand;
  s.forward = std::get<AttentionSpec>(c.spec);
  const AttentionSpec& f = s.forward;
  c.operands = expected(c);
  c.operands[At::out].is_written = c.operands[At::logsumexp].is_written = false;
  const int64_t key_heads = f.heads / f.key_group;
  const bool is_plain = coin(random);
  const auto add = [&](size_t position, DType dtype, const Shape4& shape, bool is_written,
                       HeadStrides& at) {
    if (is_packed(f) && position != At::dmask)
      add_packed(random, c, position, dtype, shape, is_written, at);
    else
      add_any(random, c, position, dtype, shape, is_plain, is_written, at);
  };
  add(At::dout, f.dtype, {f.batch, f.heads, f.rows, f.value_width}, false, s.dout);
  s.wants_dquery = is_packed(f) || pick(random, 0, 3) != 0;
  s.wants_dkey = is_packed(f) || pick(random, 0, 3) != 0;
  s.wants_dvalue = is_packed(f) || pick(random, 0, 3) != 0;
  s.wants_dmask = !is_packed(f) && pick(random, 0, 3) == 0;
  add(At::dquery, f.dtype, {f.batch, f.heads, f.rows, f.width}, true, s.dquery);
  add(At::dkey, f.dtype, {f.batch, key_heads, f.columns, f.width}, true, s.dkey);
  add(At::dvalue, f.dtype, {f.batch, key_heads, f.columns, f.value_width}, true, s.dvalue);
  if (s.wants_dmask) {
    const bool is_summed = coin(random);
    add(At::dmask, DType::f32, {is_summed ? 1 : f.batch, f.heads, f.rows, f.columns}, true,
        s.dmask);
    if (is_summed) s.dmask.batch = 0;
  }
  c.spec = s;
  c.tolerance *= 2;
  c.text += fmt::format(" gradients {}{}{}{} summed {}", s.wants_dquery, s.wants_dkey,
                        s.wants_dvalue, s.wants_dmask, s.sums_dmask());
  return c;
}

// --- Convolutions --------------------------------------------------------------------------------

namespace {

// The call with its operands drawn.
LibraryCase with_operands(Random& random, ConvolutionSpec s, bool is_aligned) {
  LibraryCase c;
  using At = ConvolutionOperand;
  using Product = ConvolutionProduct;
  const auto count = [](const Sizes3& x) { return x[0] * x[1] * x[2]; };
  const int64_t large = s.images * s.large_channels * count(s.large);
  const int64_t small = s.images * s.small_channels * count(s.small);
  const int64_t inner = s.large_channels / s.groups * count(s.kernel);
  int64_t weight = s.small_channels * inner;
  s.has_bias = s.product != Product::to_weight && coin(random);
  if (s.product == Product::to_small && s.dtype == DType::f32 && !s.channels_last) {
    s.has_added = coin(random), s.relu = coin(random);
    s.weight_packed = s.groups == 1 && pick(random, 0, 3) == 0;
    if (s.weight_packed)
      weight = (s.small_channels + gemm_panel - 1) / gemm_panel * gemm_panel * inner;
  }
  const auto drawn = [&](int64_t elements, bool is_written = false) {
    return operand(random, s.dtype, elements, is_written, is_aligned);
  };
  const bool is_to_small = s.product == Product::to_small;
  const bool is_to_large = s.product == Product::to_large;
  c.operands[At::image] = drawn(is_to_large ? small : large);
  c.operands[At::other] = drawn(s.product == Product::to_weight ? small : weight);
  if (s.has_bias) c.operands[At::bias] = drawn(is_to_small ? s.small_channels : s.large_channels);
  if (s.has_added) c.operands[At::added] = drawn(small);
  c.operands[At::out] = drawn(is_to_small ? small : is_to_large ? large : weight, true);
  c.spec = s;
  c.tolerance = tolerance_of(s.dtype);
  const auto text = [](const Sizes3& x) { return fmt::format("[{}, {}, {}]", x[0], x[1], x[2]); };
  c.text = fmt::format(
      "convolution {} product {} {} images {} -> {} channels groups {} large {} small {} kernel {} "
      "stride {} padding {} dilation {} bias {} added {} relu {} packed {} channels last {}",
      name_of(s.dtype), static_cast<int>(s.product), s.images, s.large_channels, s.small_channels,
      s.groups, text(s.large), text(s.small), text(s.kernel), text(s.stride), text(s.padding),
      text(s.dilation), s.has_bias, s.has_added, s.relu, s.weight_packed, s.channels_last);
  return c;
}

}  // namespace

LibraryCase convolution_case(Random& random) {
  ConvolutionSpec s;
  using Product = ConvolutionProduct;
  s.product = one_of(random, {Product::to_small, Product::to_large, Product::to_weight});
  s.dtype = one_of(random, {DType::f32, DType::f32, DType::f64, DType::bf16, DType::f16});
  s.images = pick(random, 1, 3);
  s.groups = coin(random) ? 1 : pick(random, 1, 4);
  s.large_channels = s.groups * pick(random, 1, 5);
  s.small_channels = s.groups * pick(random, 1, 5);
  for (size_t d = static_cast<size_t>(pick(random, 0, 2)); d < 3; ++d) {
    s.kernel[d] = pick(random, 1, 3), s.stride[d] = pick(random, 1, 3);
    s.dilation[d] = pick(random, 1, 2), s.padding[d] = pick(random, 0, 2);
    const int64_t least = s.dilation[d] * (s.kernel[d] - 1) + 1 - 2 * s.padding[d];
    s.large[d] = std::max<int64_t>(least, 1) + pick(random, 0, 6);
    s.small[d] =
        (s.large[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
    if (pick(random, 0, 9) == 0)
      s.small[d] = std::max<int64_t>(1, s.small[d] + pick(random, -1, 1));
  }
  s.channels_last = coin(random);
  return with_operands(random, s, false);
}

LibraryCase depthwise_case(Random& random) {
  ConvolutionSpec s;
  using Product = ConvolutionProduct;
  s.product = one_of(random, {Product::to_small, Product::to_large, Product::to_weight});
  s.dtype = one_of(random, {DType::f32, DType::bf16, DType::f16});
  s.channels_last = true;
  s.images = pick(random, 1, 3);
  s.groups = s.large_channels = s.small_channels = one_of<int64_t>(random, {2, 3, 6, 8, 66, 129});
  const int64_t kernel = one_of<int64_t>(random, {3, 5, 7}), stride = pick(random, 1, 2);
  for (size_t d = 1; d < 3; ++d) {
    s.kernel[d] = kernel, s.stride[d] = stride;
    s.padding[d] = pick(random, 0, kernel / 2 + 1);
    s.large[d] = std::max<int64_t>(kernel - 2 * s.padding[d], 1) + pick(random, 0, 19);
    s.small[d] = (s.large[d] + 2 * s.padding[d] - kernel) / stride + 1;
    if (pick(random, 0, 9) == 0)
      s.small[d] = std::max<int64_t>(1, s.small[d] + pick(random, -1, 1));
  }
  return with_operands(random, s, pick(random, 0, 4) != 0);
}

// --- Sorts ---------------------------------------------------------------------------------------

LibraryCase sort_case(Random& random) {
  LibraryCase c;
  SortSpec s;
  using At = SortOperand;
  s.dtype = one_of(random, {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                            DType::i16, DType::i8, DType::u8, DType::boolean});
  s.outer = pick(random, 1, 4), s.inner = coin(random) ? 1 : pick(random, 1, 4);
  s.length = pick(random, 1, coin(random) ? 40 : 1500);
  s.count = coin(random) ? s.length : pick(random, 0, s.length);
  s.is_descending = coin(random);
  c.operands[At::self] = operand(random, s.dtype, s.outer * s.length * s.inner);
  if (is_floating(s.dtype)) {
    CaseOperand& self = c.operands[At::self];
    for (size_t i = 0; i < self.bytes.size(); i += static_cast<size_t>(size_of(s.dtype)))
      if (pick(random, 0, 3) == 0)
        write(self.bytes.data() + i, s.dtype,
              one_of(random, {0.0, -0.0, 1.0, -1.0, double{NAN}, -double{NAN}, double{INFINITY},
                              -double{INFINITY}}));
  }
  if (pick(random, 0, 3) != 0)
    c.operands[At::values] = operand(random, s.dtype, s.outer * s.count * s.inner, true);
  c.operands[At::indices] = operand(random, DType::i64, s.outer * s.count * s.inner, true);
  c.spec = s;
  c.text = fmt::format("sort {} [{}, {}, {}] count {} descending {}", name_of(s.dtype), s.outer,
                       s.length, s.inner, s.count, s.is_descending);
  return c;
}

// --- Runs ----------------------------------------------------------------------------------------

std::array<CaseOperand, max_library_operands> expected(const LibraryCase& c) {
  auto operands = c.operands;
  std::array<void*, max_library_operands> at{};
  for (size_t i = 0; i < at.size(); ++i) at[i] = pointer(operands[i]);
  static const auto pool = make_thread_pool(1);
  const LibraryFunctionPtr function =
      value_or_throw(runtime::make_library_function(c.spec, Target::here()));
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  const std::unique_ptr<void, Free> scratch(
      std::aligned_alloc(64, static_cast<size_t>(function->scratch_bytes() + 64)));
  function->call(at.data(), scratch.get(), {*pool});
  return operands;
}

std::string difference(const LibraryCase& c,
                       const std::array<CaseOperand, max_library_operands>& got,
                       const std::array<CaseOperand, max_library_operands>& want) {
  for (size_t position = 0; position < want.size(); ++position) {
    const CaseOperand &a = got[position], &b = want[position];
    if (!b.is_written) {
      if (a.bytes != b.bytes) return fmt::format("{}: operand {} is written", c.text, position);
      continue;
    }
    const auto step = static_cast<size_t>(size_of(b.dtype));
    double largest = 1;
    for (size_t i = 0; i < b.bytes.size(); i += step) {
      const double x = std::fabs(read(b.bytes.data() + i, b.dtype));
      if (std::isfinite(x)) largest = std::max(largest, x);
    }
    const double limit = is_floating(b.dtype) ? c.tolerance * largest : 0;
    for (size_t i = 0; i < b.bytes.size(); i += step) {
      const double x = read(a.bytes.data() + i, b.dtype), y = read(b.bytes.data() + i, b.dtype);
      const bool is_same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= limit;
      if (!is_same)
        return fmt::format("{}: operand {}, element {}: {}, expected {}", c.text, position,
                           i / step, x, y);
    }
  }
  return "";
}

}  // namespace cleave::test
