// See gemm_library.h.
#include "runtime/gemm_library.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <thread>

// OpenMP's own functions; no pragma of it is used here.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int);
}

namespace cleave::runtime {
namespace {

// The setting belongs to the calling thread alone.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

using dnnl::memory;

memory::desc matrix(DType dtype, int64_t batch, int64_t rows, int64_t columns, int64_t batch_stride,
                    int64_t row_stride, int64_t column_stride) {
  const auto type = dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  // A stride over one element says nothing; oneDNN wants one as of a dense matrix.
  if (rows == 1 && column_stride == 1) row_stride = columns;
  if (columns == 1 && row_stride == 1) column_stride = rows;
  if (batch == 1) return {{rows, columns}, type, memory::dims{row_stride, column_stride}};
  return {{batch, rows, columns}, type, memory::dims{batch_stride, row_stride, column_stride}};
}

}  // namespace

// Operands without data: each lane holds its own, whose pointers a call sets.
struct LibraryGemm::Lane {
  std::atomic<bool> taken{false};
  dnnl::stream stream;
  dnnl::memory a, b, bias, c, scratch;
};

struct LibraryGemm::Prepared {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::matmul matmul;
  bool has_bias = false;
};

LibraryGemm::LibraryGemm() = default;
LibraryGemm::~LibraryGemm() = default;

Result<std::unique_ptr<LibraryGemm>> LibraryGemm::make(const GemmSpec& s, int64_t c_batch,
                                                       long lanes) {
  const bool row_vector = s.has_c_in && s.c_in_row == 0 && s.c_in_col == 1 && s.c_in_batch == 0;
  const bool covered = (s.dtype == DType::f32 || s.dtype == DType::bf16) && s.alpha == 1 &&
                       (!s.has_c_in || (row_vector && s.beta == 1));
  if (!covered) return std::unique_ptr<LibraryGemm>();
  const OneOpenMpThread scope;
  std::unique_ptr<LibraryGemm> made(new LibraryGemm);
  made->prepared_ = std::make_unique<Prepared>();
  Prepared& prepared = *made->prepared_;
  const auto a = matrix(s.dtype, s.batch, s.m, s.k, s.a_batch, s.a_row, s.a_col);
  const auto b = matrix(s.dtype, s.batch, s.k, s.n, s.b_batch, s.b_row, s.b_col);
  const auto c = matrix(s.dtype, s.batch, s.m, s.n, c_batch, s.n, 1);
  const auto bias = s.batch == 1
                        ? matrix(s.dtype, 1, 1, s.n, 0, s.n, 1)
                        : memory::desc({1, 1, s.n}, c.data_type(), memory::dims{s.n, s.n, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  try {
    const auto description =
        s.has_c_in ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc chosen(description, attributes, prepared.engine);
    prepared.matmul = dnnl::matmul(chosen);
    prepared.has_bias = s.has_c_in;
    made->kernel_ = chosen.impl_info_str();
    const auto scratch = static_cast<int64_t>(chosen.scratchpad_desc().get_size());
    made->scratch_bytes_ = (scratch + 63) / 64 * 64;
    for (long i = 0; i < lanes; ++i) {
      auto lane = std::make_unique<Lane>();
      lane->stream = dnnl::stream(prepared.engine);
      lane->a = memory(a, prepared.engine, nullptr);
      lane->b = memory(b, prepared.engine, nullptr);
      lane->c = memory(c, prepared.engine, nullptr);
      if (s.has_c_in) lane->bias = memory(bias, prepared.engine, nullptr);
      lane->scratch = memory(chosen.scratchpad_desc(), prepared.engine, nullptr);
      made->lanes_.push_back(std::move(lane));
    }
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments)
      return std::unique_ptr<LibraryGemm>();
    return bug("gemm: oneDNN: {} (status {})", error.what(), static_cast<int>(error.status));
  }
  return made;
}

LibraryGemm::Lane& LibraryGemm::take_lane() {
  for (;;) {
    for (const auto& lane : lanes_)
      if (!lane->taken.exchange(true, std::memory_order_acquire)) return *lane;
    std::this_thread::yield();
  }
}

void LibraryGemm::run(const void* a, const void* b, const void* c_in, void* c, void* scratch) {
  Lane& lane = take_lane();
  {
    const OneOpenMpThread scope;
    const auto at = [](dnnl::memory& memory, const void* data) {
      memory.set_data_handle(const_cast<void*>(data));
      return memory.get();
    };
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, at(lane.a, a)},
                               {DNNL_ARG_WEIGHTS, at(lane.b, b)},
                               {DNNL_ARG_DST, at(lane.c, c)},
                               {DNNL_ARG_SCRATCHPAD, at(lane.scratch, scratch)},
                               {DNNL_ARG_BIAS, nullptr}};
    if (prepared_->has_bias) args[4].memory = at(lane.bias, c_in);
    dnnl_primitive_execute(prepared_->matmul.get(), lane.stream.get(), prepared_->has_bias ? 5 : 4,
                           args);
  }
  lane.taken.store(false, std::memory_order_release);
}

}  // namespace cleave::runtime
