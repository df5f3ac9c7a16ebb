// A Gemm is a cut and the kernel that runs its pieces.
#include "runtime/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

// Panels of a matrix of four-bit numbers (GemmSpec::b_is_nibbles).
struct Nibbles {
  const uint8_t* b;
  int64_t row, col, width;  // width: of a panel

  static void pack(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                   int64_t columns, void* to) {
    const auto& from = *static_cast<const Nibbles*>(self);
    auto* out = static_cast<float*>(to);
    for (int64_t k = first_k; k < first_k + count_k; ++k, out += from.width) {
      const uint8_t* row = from.b + k / 2 * from.row + first_column * from.col;
      const bool is_high = k % 2 != 0;
      int64_t j = 0;
      if (from.col == 1)
        for (; j + few <= columns; j += few) unpack(row + j, is_high, out + j);
      for (; j < columns; ++j) {
        const int both = row[j * from.col];
        out[j] = static_cast<float>((is_high ? both >> 4 : both & 15) - 8);
      }
      for (; j < from.width; ++j) out[j] = 0;
    }
  }

 private:
  static constexpr int64_t few = 16;

  // With local copies, which can't alias, the compiler vectorizes the loops.
  static void unpack(const uint8_t* from, bool is_high, float* to) {
    uint8_t both[few];
    float numbers[few];
    std::memcpy(both, from, few);
    if (is_high)
      for (int64_t i = 0; i < few; ++i) numbers[i] = static_cast<float>((both[i] >> 4) - 8);
    else
      for (int64_t i = 0; i < few; ++i) numbers[i] = static_cast<float>((both[i] & 15) - 8);
    std::memcpy(to, numbers, sizeof numbers);
  }
};

// A job of several products pays where they are small: it saves each but one the waking of its
// threads, and the end at which some have nothing left to do. A product of more cycles keeps 16
// threads busy ten times as long as they take to wake.
constexpr double most_joined_cycles = 10 * waking_cycles * max_lanes;

GemmOperands operands_of(void* const* at) {
  using At = GemmOperand;
  return {.a = at[At::a],
          .b = at[At::b],
          .c_in = at[At::c_in],
          .scales = {at[At::scale], at[At::other_scale]},
          .c = at[At::c]};
}

class CutGemm final : public Gemm {
 public:
  CutGemm(const GemmSpec& spec, const GemmCuts& cuts, const GemmBlockKernel& kernel)
      : spec_(spec), cuts_(cuts), kernel_(kernel) {}

  int64_t scratch_bytes() const override {
    int64_t most = 0;
    for (size_t i = 0; i < cuts_.size(); ++i)
      most = std::max(most, lanes(i) * lane_bytes(cuts_[i]));
    return most;
  }
  long pieces(int threads) const override { return cuts_[cut_index(threads)].pieces(); }

  using Gemm::run;
  void run(const GemmOperands& operands, void* scratch, Executor& executor) const override {
    Run one(*this, operands, scratch, executor.threads(), 0);
    executor.parallel_for(one.end_lane, Run::run_lane, &one);
  }

  bool can_join() const override { return cuts_[0].cycles <= most_joined_cycles; }
  // Lanes of the products are the pieces of the job.
  //
  //   thread 0   lane 0 of a | lane 1 of a | lane 0 of b | help with c
  //   thread 1   lane 0 of c ...                 | lane 1 of c ...
  //
  // So each product has the pieces and, by lane, the scratch that it has alone.
  void call_joined(std::span<const LibraryRun> calls, const RunContext& context) const override {
    const int threads = context.executor.threads();
    std::array<std::optional<Run>, max_joined_calls> products;
    long lanes = 0;
    double cycles = 0;
    for (size_t k = 0; k < calls.size(); ++k) {
      const Run& p =
          products[k].emplace(static_cast<const CutGemm&>(*calls[k].function),
                              operands_of(calls[k].operands), calls[k].scratch, threads, lanes);
      lanes = p.end_lane;
      cycles += p.cut.cycles;
    }
    const long at_once = cut_lanes(cut_index(threads), cycles, lanes, product_wakings);
    run_lanes(at_once, lanes, context.executor, [&](long, long lane) {
      size_t k = 0;
      while (lane >= products[k]->end_lane) ++k;
      Run::run_lane(&*products[k], lane);
    });
  }

 private:
  // A run of the product, alone or in a job, which numbers the lanes of all its products.
  struct Run {
    Run(const CutGemm& product, const GemmOperands& at, void* workspace, int threads, long first)
        : gemm(product), cut(gemm.cuts_[cut_index(threads)]), operands(at),
          scratch(static_cast<char*>(workspace)), lane_bytes(gemm.lane_bytes(cut)),
          first_lane(first), end_lane(first + gemm.lanes(cut_index(threads))),
          shares(end_lane - first, cut.pieces(), threads) {}

    // Not in line: all runs share its code.
    [[gnu::noinline]] static void run_lane(void* run, long lane) {
      Run& r = *static_cast<Run*>(run);
      const long own = lane - r.first_lane;
      r.shares.run_lane(own, [&](long index) {
        r.gemm.run_piece(r.cut.piece(index), r.operands, r.scratch + own * r.lane_bytes);
      });
    }

    const CutGemm& gemm;
    const GemmCut& cut;
    const GemmOperands operands;
    char* const scratch;
    const int64_t lane_bytes;
    const long first_lane, end_lane;
    LaneShares shares;
  };

  long lanes(size_t i) const {
    return cut_lanes(i, cuts_[i].cycles, cuts_[i].pieces(), product_wakings);
  }
  int64_t lane_bytes(const GemmCut& cut) const {
    return cut.pieces() == 0 ? 0 : kernel_.scratch_bytes(cut.m, cut.n, spec_.k);
  }
  static const void* moved(const void* at, int64_t elements, DType dtype) {
    return static_cast<const char*>(at) + elements * size_of(dtype);
  }

  int64_t c_row() const { return spec_.c_row == 0 ? spec_.n : spec_.c_row; }

  // The block of a piece in one matrix of the batch. For k = 0, A and B may be null.
  GemmBlock block_of(const GemmPiece& piece, const GemmOperands& all, int64_t batch) const {
    const int64_t i = piece.first_row, j = piece.first_column;
    GemmBlock at{.m = piece.m,
                 .n = piece.n,
                 .k = spec_.k,
                 .a_row = spec_.a_row,
                 .a_col = spec_.a_col,
                 .b_row = spec_.b_row,
                 .b_col = spec_.b_col,
                 .c_in_row = spec_.c_in_row,
                 .c_in_col = spec_.c_in_col,
                 .c_row = c_row(),
                 .alpha = spec_.alpha,
                 .beta = spec_.beta,
                 .b_packed = spec_.b_packed,
                 .b_first = j,
                 .a_stored = spec_.a_stored,
                 .b_stored = spec_.b_stored};
    if (spec_.k > 0) {
      at.a = moved(all.a, batch * spec_.a_batch + i * spec_.a_row,
                   spec_.a_stored.value_or(spec_.dtype));
      at.b = spec_.b_packed ? all.b
                            : moved(all.b, batch * spec_.b_batch + j * spec_.b_col,
                                    spec_.b_stored.value_or(spec_.dtype));
    }
    if (spec_.has_c_in)
      at.c_in = moved(all.c_in, batch * spec_.c_in_batch + i * spec_.c_in_row + j * spec_.c_in_col,
                      spec_.dtype);
    const int64_t c_batch = spec_.c_row == 0 ? spec_.m * spec_.n : spec_.c_batch;
    at.c = static_cast<char*>(all.c) + (batch * c_batch + i * c_row() + j) * size_of(spec_.dtype);
    for (size_t s = 0; s < spec_.scales.size(); ++s)
      if (const GemmSpec::Scale& scale = spec_.scales[s]; scale.is_given)
        at.scales[s] = {static_cast<const float*>(all.scales[s]) + i * scale.row + j * scale.col,
                        scale.row, scale.col};
    return at;
  }

  void run_piece(const GemmPiece& piece, const GemmOperands& all, void* scratch) const {
    for (int64_t batch = piece.first_batch; batch < piece.first_batch + piece.batch; ++batch) {
      GemmBlock block = block_of(piece, all, batch);
      block.scratch = scratch;
      const Nibbles nibbles{static_cast<const uint8_t*>(all.b), spec_.b_row, spec_.b_col,
                            kernel_.nr};
      if (spec_.b_is_nibbles) block.panels = {Nibbles::pack, &nibbles, piece.first_column};
      kernel_.run(block);
    }
  }

  const GemmSpec spec_;
  const GemmCuts cuts_;
  const GemmBlockKernel kernel_;
};

GemmBlockKernel kernel_for(const GemmSpec& spec, InstructionSet set) {
  const auto is_byte = [](const std::optional<DType>& t) {
    return t == DType::i8 || t == DType::u8;
  };
  if (spec.scales_sums) return gemm_scaled_kernel(set);
  if (spec.dtype == DType::i32 && is_byte(spec.a_stored) && is_byte(spec.b_stored))
    return gemm_bytes_kernel(*spec.a_stored, *spec.b_stored, set);
  return gemm_block_kernel(spec.dtype, set);
}

}  // namespace

Result<std::shared_ptr<Gemm>> Gemm::make(const GemmSpec& spec, const Target& target) {
  const GemmBlockKernel kernel = kernel_for(spec, target.set);
  if (kernel.run == nullptr)
    return unsupported("gemm: products of {} are not covered (src/runtime/gemm_block.h)",
                       name_of(spec.dtype));
  const auto is_i8 = [](const std::optional<DType>& t) { return t == DType::i8; };
  if (spec.scales_sums &&
      !(spec.dtype == DType::f32 && is_i8(spec.a_stored) && is_i8(spec.b_stored)))
    return bug("gemm: scaled sums in {} of other operands than i8", name_of(spec.dtype));
  if (spec.b_is_nibbles &&
      (!is_floating(spec.dtype) || spec.dtype == DType::f64 || spec.batch != 1 || spec.k % 2 != 0))
    return bug("gemm: a product of {}, batch {}, k {} with numbers of four bits",
               name_of(spec.dtype), spec.batch, spec.k);
  if (spec.b_packed && (spec.dtype != DType::f32 || spec.b_stored || spec.scales_sums ||
                        spec.b_is_nibbles || spec.batch != 1))
    return bug("gemm: a product of {}, batch {} with a packed matrix", name_of(spec.dtype),
               spec.batch);
  if (spec.c_row != 0 && spec.c_row < spec.n)
    return bug("gemm: rows of {} columns are {} apart", spec.n, spec.c_row);
  if (spec.batch < 0 || spec.m < 0 || spec.n < 0 || spec.k < 0)
    return bug("gemm: dimensions [{}, {}, {}, {}] below 0", spec.batch, spec.m, spec.n, spec.k);
  for (const std::optional<DType>& stored : {spec.a_stored, spec.b_stored})
    if (stored && !gemm_reads_as(*stored, spec.dtype))
      return bug("gemm: products of {} with operands in {}", name_of(spec.dtype), name_of(*stored));
  // Sums in another type than C that are kept from one part of k to the next are in scratch, and so
  // are totals of spans: narrower pieces need less of it.
  const bool sums_in_c = !spec.scales_sums && spec.k <= kernel.span &&
                         (spec.dtype == DType::f32 || spec.dtype == DType::f64);
  const int64_t k = (spec.k + kernel.depth - 1) / kernel.depth;
  const GemmCuts cuts = cut_gemm(spec.batch, spec.m, spec.n, k, kernel.mr, kernel.nr,
                                 sums_in_c || spec.k <= kernel.max_kc ? 2048 : 512);
  return std::shared_ptr<Gemm>(std::make_shared<CutGemm>(spec, cuts, kernel));
}

void Gemm::call(void* const* at, void* scratch, const RunContext& context) const {
  run(operands_of(at), scratch, context.executor);
}

}  // namespace cleave::runtime
