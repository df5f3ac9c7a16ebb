#include "runtime/grouped_product.h"

#include <algorithm>

#include "run/run_context.h"
#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

using At = GroupedProductOperand;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class GroupedProduct final : public LibraryFunction {
 public:
  GroupedProduct(const GroupedProductSpec& spec, const GemmCuts& cuts,
                 const GemmBlockKernel& kernel)
      : s_(spec), cuts_(cuts), kernel_(kernel) {}

  int64_t scratch_bytes() const override {
    int64_t most = 0;
    for (size_t i = 0; i < cuts_.size(); ++i) most = std::max(most, lanes(i) * lane_bytes(i));
    return most;
  }

  void call(void* const* at, void* scratch, const RunContext& context) const override {
    if (cuts_[0].pieces() == 0) return;
    const size_t i = cut_index(context.executor.threads());
    const int64_t bytes = lane_bytes(i);
    run_lanes(lanes(i), pieces(at[At::ends], cuts_[i]), context.executor,
              [&](long lane, long index) {
                run_piece(at, cuts_[i], index, static_cast<char*>(scratch) + lane * bytes);
              });
  }

 private:
  // Places [begin, end) of the grouped dim; group `groups` is what no group has.
  struct Group {
    int64_t index = 0, begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  int64_t all() const {
    return s_.along == GroupedDim::rows ? s_.m : s_.along == GroupedDim::columns ? s_.n : s_.k;
  }
  Group next(const void* ends, const Group& last) const {
    Group g{last.index + 1, last.end, all()};
    if (g.index == s_.groups) return g;
    const int64_t at = g.index * s_.ends_stride;
    const int64_t end = s_.ends_dtype == DType::i64 ? static_cast<const int64_t*>(ends)[at]
                                                    : static_cast<const int32_t*>(ends)[at];
    g.end = std::clamp(end, g.begin, all());
    return g;
  }
  int64_t group_count() const { return s_.groups + (s_.along == GroupedDim::inner ? 0 : 1); }

  // How many rows and columns of C a group has, and in how many pieces they are cut.
  int64_t rows(const Group& g) const { return s_.along == GroupedDim::rows ? g.size() : s_.m; }
  int64_t columns(const Group& g) const {
    return s_.along == GroupedDim::columns ? g.size() : s_.n;
  }
  int64_t pieces_of(const Group& g, const GemmCut& cut) const {
    return ceil_div(rows(g), cut.m) * ceil_div(columns(g), cut.n);
  }
  long pieces(const void* ends, const GemmCut& cut) const {
    int64_t count = 0;
    Group g{.index = -1};
    for (int64_t k = 0; k < group_count(); ++k) count += pieces_of(g = next(ends, g), cut);
    return static_cast<long>(count);
  }

  long lanes(size_t i) const {
    return cut_lanes(i, cuts_[i].cycles, cuts_[i].pieces(), product_wakings);
  }
  // The packed part of a shorter k may be larger: a longer one is cut in equal parts.
  int64_t lane_bytes(size_t i) const {
    const GemmCut& cut = cuts_[i];
    if (cut.pieces() == 0) return 0;
    const auto bytes = [&](int64_t k) { return kernel_.scratch_bytes(cut.m, cut.n, k); };
    if (s_.along != GroupedDim::inner || s_.k <= kernel_.max_kc) return bytes(s_.k);
    return bytes(s_.k) + kernel_.packed_bytes(cut.m, kernel_.max_kc);
  }

  static const void* moved(const void* at, int64_t elements, DType dtype) {
    return static_cast<const char*>(at) + elements * size_of(dtype);
  }

  void run_piece(void* const* at, const GemmCut& cut, int64_t index, void* scratch) const {
    Group g = next(at[At::ends], {.index = -1});
    for (int64_t count; (count = pieces_of(g, cut)) <= index; g = next(at[At::ends], g))
      index -= count;
    const int64_t across = ceil_div(columns(g), cut.n);
    const int64_t i = index / across * cut.m, j = index % across * cut.n;
    run_block(at, g, i, std::min(cut.m, rows(g) - i), j, std::min(cut.n, columns(g) - j), scratch);
  }

  // Rows [i, i + m) and columns [j, j + n) of a group's part of C.
  void run_block(void* const* at, const Group& g, int64_t i, int64_t m, int64_t j, int64_t n,
                 void* scratch) const {
    GemmBlock block{.scratch = scratch,
                    .m = m,
                    .n = n,
                    .k = s_.k,
                    .a_row = s_.a_row,
                    .a_col = s_.a_col,
                    .b_row = s_.b_row,
                    .b_col = s_.b_col,
                    .c_row = s_.n};
    int64_t row = i, column = j, first = 0, matrix = 0;
    if (s_.along == GroupedDim::rows) row += g.begin;
    if (s_.along == GroupedDim::columns) column += g.begin;
    if (s_.along == GroupedDim::inner) {
      block.k = g.size(), first = g.begin;
      matrix = g.index;
    } else if (g.index == s_.groups) {
      block.k = 0;
    }
    if (block.k > 0) {
      block.a =
          moved(at[At::a], g.index * s_.a_group + row * s_.a_row + first * s_.a_col, s_.dtype);
      block.b =
          moved(at[At::b], g.index * s_.b_group + first * s_.b_row + column * s_.b_col, s_.dtype);
    }
    block.c =
        static_cast<char*>(at[At::c]) + ((matrix * s_.m + row) * s_.n + column) * size_of(s_.dtype);
    kernel_.run(block);
  }

  const GroupedProductSpec s_;
  const GemmCuts cuts_;
  const GemmBlockKernel kernel_;
};

}  // namespace

Result<LibraryFunctionPtr> make_grouped_product(const GroupedProductSpec& s, const Target& target) {
  const GemmBlockKernel kernel = gemm_block_kernel(s.dtype, target.set);
  if (kernel.run == nullptr)
    return unsupported("grouped product: products of {} are not covered", name_of(s.dtype));
  if (s.groups < 0 || s.m < 0 || s.n < 0 || s.k < 0)
    return bug("grouped product: dimensions [{}, {}, {}, {}] below 0", s.groups, s.m, s.n, s.k);
  const bool is_inner = s.along == GroupedDim::inner;
  const bool sums_in_c = s.k <= kernel.span && (s.dtype == DType::f32 || s.dtype == DType::f64);
  const int64_t terms = is_inner ? ceil_div(s.k, std::max<int64_t>(s.groups, 1)) : s.k;
  const GemmCuts cuts =
      cut_gemm(is_inner ? s.groups : 1, s.m, s.n, ceil_div(terms, kernel.depth), kernel.mr,
               kernel.nr, sums_in_c || s.k <= kernel.max_kc ? 2048 : 512);
  return LibraryFunctionPtr(std::make_shared<GroupedProduct>(s, cuts, kernel));
}

}  // namespace cleave::runtime
