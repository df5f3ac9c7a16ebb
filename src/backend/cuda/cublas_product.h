// One product by cuBLASLt, in its terms: matrices are column-major, element (i, j) is at
// j * leading + i.
//
//   D [rows, columns] = alpha * op(A) op(B) + beta * C (+ bias, one number for each row)
//
// The algorithm is one of the heuristic's answers within the workspace, the first unless the target
// names another (tune_products.h), chosen at the first call for the alignment of the pointers, one
// of three: to 256 bytes, to 16, or to an element. Later calls allocate nothing.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/cublas_api.h"
#include "cleave/dtype.h"

namespace cleave::cuda {

// As it lies in memory.
struct CublasMatrix {
  DType dtype = DType::f32;
  int64_t rows = 0, columns = 0, leading = 0;
  bool is_transposed = false;  // op transposes it
  int64_t batch_stride = 0;    // elements

  auto operator<=>(const CublasMatrix&) const = default;
};

struct CublasProductSpec {
  CublasMatrix a, b, c, d;
  int64_t batch = 1;
  double alpha = 1, beta = 0;  // beta 0: C isn't read
  bool has_bias = false;       // in D's type
  int64_t workspace_bytes = 0;
};

// Of Target::answers: all that decides on the algorithms, but for the numbers that scale.
std::string answer_name(const CublasProductSpec& spec);

class CublasProductCall {
 public:
  // f64 is summed as it is, f32, bf16 and f16 in f32 (never in TF32).
  // `answer`: the number of the heuristic's answer; where there are fewer, the first.
  CublasProductCall(const CublasProductSpec& spec, std::shared_ptr<const Cublas> cublas,
                    int answer = 0);
  ~CublasProductCall();
  CublasProductCall(const CublasProductCall&) = delete;
  CublasProductCall& operator=(const CublasProductCall&) = delete;

  // How many answers there are for such pointers, of the first so many.
  int answers(const void* a, const void* b, const void* c, void* d, const void* bias,
              int most) const;
  // Queues it. False if cuBLASLt has no algorithm for it, and nothing is queued. Any thread may
  // call. Other failures are Bugs, thrown.
  bool run(const void* a, const void* b, const void* c, void* d, const void* bias, void* workspace,
           void* queue) const;

 private:
  struct Descriptors;
  struct Choice {
    bool is_made = false, is_found = false;
    CublasAlgorithm algorithm = {};
    size_t workspace_bytes = 0;
  };
  const Choice& choice_for(uint64_t alignment) const;
  std::vector<CublasHeuristic> found_for(uint64_t alignment, int most) const;

  const CublasProductSpec spec_;
  const std::shared_ptr<const Cublas> cublas_;
  const int answer_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Descriptors> at_;
  mutable std::array<Choice, 3> choices_;
};

}  // namespace cleave::cuda
