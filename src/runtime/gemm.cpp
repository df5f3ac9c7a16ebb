// See gemm.h. A Gemm is a cut and the kernel that runs its pieces.
#include "runtime/gemm.h"

#include <atomic>

#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"

namespace cleave::runtime {
namespace {

// Where a piece's operands begin.
struct Operands {
  const char* a;
  const char* b;
  const char* c_in;
  char* c;
};

class CutGemm final : public Gemm {
 public:
  CutGemm(const GemmSpec& spec, const GemmCut& cut, const GemmBlockKernel& kernel)
      : spec_(spec), cut_(cut), kernel_(kernel),
        lane_bytes_(cut.pieces() == 0 ? 0 : kernel.scratch_bytes(cut.m, cut.n, spec.k)) {}

  int64_t scratch_bytes() const override { return lane_bytes_ * cut_.lanes(); }
  long pieces() const override { return cut_.pieces(); }

  void run(const void* a, const void* b, const void* c_in, void* c, void* scratch,
           Executor& executor) const override {
    Run job{this,
            {static_cast<const char*>(a), static_cast<const char*>(b),
             static_cast<const char*>(c_in), static_cast<char*>(c)},
            static_cast<char*>(scratch),
            {}};
    executor.parallel_for(
        cut_.lanes(), [](void* job, long lane) { static_cast<Run*>(job)->run_lane(lane); }, &job);
  }

 private:
  struct Run {
    const CutGemm* gemm;
    Operands all;
    char* scratch;
    std::atomic<long> next;

    void run_lane(long lane) {
      for (;;) {
        const long index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= gemm->cut_.pieces()) return;
        gemm->run_piece(gemm->cut_.piece(index), all, scratch + lane * gemm->lane_bytes_);
      }
    }
  };

  Operands operands_of(const GemmPiece& piece, const Operands& all, int64_t batch) const {
    const int64_t bytes = size_of(spec_.dtype), i = piece.first_row, j = piece.first_column;
    Operands at = all;  // for k = 0, A and B may be null
    if (spec_.k > 0) {
      at.a +=
          (batch * spec_.a_batch + i * spec_.a_row) * size_of(spec_.a_stored.value_or(spec_.dtype));
      at.b +=
          (batch * spec_.b_batch + j * spec_.b_col) * size_of(spec_.b_stored.value_or(spec_.dtype));
    }
    if (spec_.has_c_in)
      at.c_in += (batch * spec_.c_in_batch + i * spec_.c_in_row + j * spec_.c_in_col) * bytes;
    at.c += ((batch * spec_.m + i) * spec_.n + j) * bytes;
    return at;
  }

  void run_piece(const GemmPiece& piece, const Operands& all, void* scratch) const {
    for (int64_t batch = piece.first_batch; batch < piece.first_batch + piece.batch; ++batch) {
      const Operands at = operands_of(piece, all, batch);
      kernel_.run({.a = at.a,
                   .b = at.b,
                   .c_in = spec_.has_c_in ? at.c_in : nullptr,
                   .c = at.c,
                   .scratch = scratch,
                   .m = piece.m,
                   .n = piece.n,
                   .k = spec_.k,
                   .a_row = spec_.a_row,
                   .a_col = spec_.a_col,
                   .b_row = spec_.b_row,
                   .b_col = spec_.b_col,
                   .c_in_row = spec_.c_in_row,
                   .c_in_col = spec_.c_in_col,
                   .c_row = spec_.n,
                   .alpha = spec_.alpha,
                   .beta = spec_.beta,
                   .a_stored = spec_.a_stored,
                   .b_stored = spec_.b_stored});
    }
  }

  const GemmSpec spec_;
  const GemmCut cut_;
  const GemmBlockKernel kernel_;
  const int64_t lane_bytes_;
};

}  // namespace

Result<std::shared_ptr<Gemm>> Gemm::make(const GemmSpec& spec) {
  const GemmBlockKernel kernel = gemm_block_kernel(spec.dtype);
  if (kernel.run == nullptr)
    return unsupported("gemm: products of {} are not covered (src/runtime/gemm_block.h)",
                       name_of(spec.dtype));
  if (spec.batch < 0 || spec.m < 0 || spec.n < 0 || spec.k < 0)
    return bug("gemm: dimensions [{}, {}, {}, {}] below 0", spec.batch, spec.m, spec.n, spec.k);
  for (const std::optional<DType>& stored : {spec.a_stored, spec.b_stored})
    if (stored && !reads_as(*stored, spec.dtype))
      return bug("gemm: products of {} with operands in {}", name_of(spec.dtype), name_of(*stored));
  // Sums of another type that k interrupts stay in scratch: narrower pieces need less of it.
  const bool sums_in_c = spec.dtype == DType::f32 || spec.dtype == DType::f64;
  const int64_t k = (spec.k + kernel.depth - 1) / kernel.depth;
  const GemmCut cut = cut_gemm(spec.batch, spec.m, spec.n, k, kernel.mr, kernel.nr,
                               sums_in_c || spec.k <= kernel.steps ? 2048 : 512);
  return std::shared_ptr<Gemm>(std::make_shared<CutGemm>(spec, cut, kernel));
}

Result<std::shared_ptr<Gemm>> GemmCache::get(const GemmSpec& spec) {
  const std::lock_guard lock(mutex_);
  if (const auto found = gemms_.find(spec); found != gemms_.end()) return found->second;
  CLEAVE_TRY(std::shared_ptr<Gemm> gemm, Gemm::make(spec));
  gemms_.emplace(spec, gemm);
  return gemm;
}

size_t GemmCache::size() const {
  const std::lock_guard lock(mutex_);
  return gemms_.size();
}

}  // namespace cleave::runtime
