// See gemm.h. A Gemm is a cut and what runs a piece: cleave's kernel, or oneDNN's with at most four
// primitives: one for whole pieces, others for those of the last group and of the last rows.
#include "runtime/gemm.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"
#include "runtime/gemm_library.h"

namespace cleave::runtime {
namespace {

// Where a piece's operands begin.
struct Operands {
  const char* a;
  const char* b;
  const char* c_in;
  char* c;
};

class CutGemm : public Gemm {
 public:
  CutGemm(const GemmSpec& spec, const GemmCut& cut) : spec_(spec), cut_(cut) {}

  int64_t scratch_bytes() const final { return lane_bytes() * cut_.lanes(); }
  long pieces() const final { return cut_.pieces(); }

  void run(const void* a, const void* b, const void* c_in, void* c, void* scratch,
           Executor& executor) const final {
    Run job{this,
            {static_cast<const char*>(a), static_cast<const char*>(b),
             static_cast<const char*>(c_in), static_cast<char*>(c)},
            static_cast<char*>(scratch),
            {}};
    executor.parallel_for(
        cut_.lanes(), [](void* job, long lane) { static_cast<Run*>(job)->run_lane(lane); }, &job);
  }

 protected:
  virtual int64_t lane_bytes() const = 0;
  virtual void run_piece(const GemmPiece& piece, const Operands& at, void* scratch) const = 0;

  Operands operands_of(const GemmPiece& piece, const Operands& all, int64_t batch) const {
    const int64_t bytes = size_of(spec_.dtype), i = piece.first_row, j = piece.first_column;
    Operands at = all;  // for k = 0, A and B may be null
    if (spec_.k > 0) {
      at.a += (batch * spec_.a_batch + i * spec_.a_row) * bytes;
      at.b += (batch * spec_.b_batch + j * spec_.b_col) * bytes;
    }
    if (spec_.has_c_in)
      at.c_in += (batch * spec_.c_in_batch + i * spec_.c_in_row + j * spec_.c_in_col) * bytes;
    at.c += ((batch * spec_.m + i) * spec_.n + j) * bytes;
    return at;
  }

  const GemmSpec spec_;
  const GemmCut cut_;

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
        gemm->run_piece(gemm->cut_.piece(index), all, scratch + lane * gemm->lane_bytes());
      }
    }
  };
};

class OwnGemm final : public CutGemm {
 public:
  OwnGemm(const GemmSpec& spec, const GemmCut& cut, const GemmBlockKernel& kernel)
      : CutGemm(spec, cut), kernel_(kernel),
        lane_bytes_(cut.pieces() == 0 ? 0 : kernel.scratch_bytes(cut.m, cut.n, spec.k)) {}
  const char* kernel() const override { return "own"; }

 protected:
  int64_t lane_bytes() const override { return lane_bytes_; }

  void run_piece(const GemmPiece& piece, const Operands& all, void* scratch) const override {
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
                   .beta = spec_.beta});
    }
  }

 private:
  const GemmBlockKernel kernel_;
  const int64_t lane_bytes_;
};

class OneDnnGemm final : public CutGemm {
 public:
  using Library = std::array<std::unique_ptr<LibraryGemm>, 4>;

  OneDnnGemm(const GemmSpec& spec, const GemmCut& cut, Library library)
      : CutGemm(spec, cut), library_(std::move(library)) {
    for (const auto& one : library_)
      if (one != nullptr && one->scratch_bytes() > lane_bytes_) lane_bytes_ = one->scratch_bytes();
  }
  const char* kernel() const override { return library_[0]->kernel().c_str(); }

  // Which of the four a piece is: bit 0 short of batch, bit 1 of rows.
  static size_t shape_of(const GemmCut& cut, const GemmPiece& piece) {
    return (piece.batch < cut.batch ? 1u : 0u) + (piece.m < cut.m ? 2u : 0u);
  }

 protected:
  int64_t lane_bytes() const override { return lane_bytes_; }

  void run_piece(const GemmPiece& piece, const Operands& all, void* scratch) const override {
    const Operands at = operands_of(piece, all, piece.first_batch);
    library_[shape_of(cut_, piece)]->run(at.a, at.b, at.c_in, at.c, scratch);
  }

 private:
  const Library library_;
  int64_t lane_bytes_ = 0;
};

// In bf16 oneDNN has instructions of its own. In f32 its calls allocate (344 bytes of bookkeeping),
// its kernels take 0.4 s to set up for a small GPT, and its step is slower: 24,500 tokens/s against
// 29,400 for the demo's (two cores of a Zen 4 with AVX-512, 2026-11).
bool library_is_ahead(const GemmSpec& spec) { return spec.dtype == DType::bf16; }

// Null where oneDNN has nothing for it. Its brgemm takes dense matrices alone, so C is cut into
// rows of full width.
Result<std::shared_ptr<Gemm>> make_library(const GemmSpec& spec, const GemmBlockKernel& kernel,
                                           GemmEngine engine) {
  const GemmCut cut =
      cut_gemm(spec.batch, spec.m, spec.n, spec.k, kernel.mr, kernel.nr, GemmCutting::rows);
  OneDnnGemm::Library library;
  for (long index = 0; index < cut.pieces(); ++index) {
    const GemmPiece piece = cut.piece(index);
    auto& one = library[OneDnnGemm::shape_of(cut, piece)];
    if (one != nullptr) continue;
    GemmSpec part = spec;
    part.batch = piece.batch;
    part.m = piece.m;
    CLEAVE_TRY(one, LibraryGemm::make(part, spec.m * spec.n, cut.lanes()));
    if (one == nullptr || (engine == GemmEngine::automatic && !one->allocates_little()))
      return std::shared_ptr<Gemm>();
  }
  return std::shared_ptr<Gemm>(std::make_shared<OneDnnGemm>(spec, cut, std::move(library)));
}

}  // namespace

Result<std::shared_ptr<Gemm>> Gemm::make(const GemmSpec& spec, GemmEngine engine) {
  const GemmBlockKernel kernel = gemm_block_kernel(spec.dtype);
  if (kernel.run == nullptr)
    return unsupported("gemm: products of {} are not covered (src/runtime/gemm_block.h)",
                       name_of(spec.dtype));
  if (spec.batch < 0 || spec.m < 0 || spec.n < 0 || spec.k < 0)
    return bug("gemm: dimensions [{}, {}, {}, {}] below 0", spec.batch, spec.m, spec.n, spec.k);
  const bool empty = spec.batch == 0 || spec.m == 0 || spec.n == 0 || spec.k == 0;
  if (!empty && (engine == GemmEngine::library ||
                 (engine == GemmEngine::automatic && library_is_ahead(spec)))) {
    CLEAVE_TRY(std::shared_ptr<Gemm> library, make_library(spec, kernel, engine));
    if (library != nullptr) return library;
  }
  if (engine == GemmEngine::library)
    return unsupported("gemm: oneDNN has no matmul for this product of {}", name_of(spec.dtype));
  // Other types keep their sums in scratch: narrower pieces need less of it.
  const bool sums_in_c = spec.dtype == DType::f32 || spec.dtype == DType::f64;
  const GemmCut cut = cut_gemm(spec.batch, spec.m, spec.n, spec.k, kernel.mr, kernel.nr,
                               GemmCutting::grid, sums_in_c ? 2048 : 512);
  return std::shared_ptr<Gemm>(std::make_shared<OwnGemm>(spec, cut, kernel));
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
