// A graph of cuDNN's operations (its "backend" interface), and the plan by which they run as one.
//
//   CudnnGraph g(cudnn);
//   const int64_t q = g.tensor(CudnnType::bf16, sizes, strides), k = ...;
//   const int64_t s = g.matmul(q, k, g.inner(CudnnType::f32, {b, h, rows, columns}));
//   ...
//   CLEAVE_TRY(CudnnPlan plan, std::move(g).plan(most_workspace_bytes));
//   plan.run({{q, query}, {k, key}, ...}, workspace, queue);
//
// Tensors have four dims, and are named by numbers. What cuDNN refuses is said at the end, by
// plan().
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/cuda/cudnn_api.h"

namespace cleave::cuda {

using Sizes4 = std::array<int64_t, 4>;

// A descriptor, destroyed with its owner.
class CudnnOwned {
 public:
  CudnnOwned(CudnnPtr cudnn, CudnnDescriptor at) : cudnn_(std::move(cudnn)), at_(at) {}
  CudnnOwned(CudnnOwned&& from) noexcept
      : cudnn_(std::move(from.cudnn_)), at_(std::exchange(from.at_, nullptr)) {}
  CudnnOwned& operator=(CudnnOwned&&) = delete;
  ~CudnnOwned() {
    if (at_ != nullptr) cudnn_->api().graph_destroy(at_);
  }
  CudnnDescriptor get() const { return at_; }

 private:
  CudnnPtr cudnn_;
  CudnnDescriptor at_;
};

enum class CudnnPointwise : int {
  add = 0,
  mul = 1,
  div = 6,
  sub = 9,
  exp = 13,
  log = 15,
  identity = 21,
  greater_or_equal = 303,
  index = 501,
  select = 601
};
enum class CudnnReduction : int { add = 0, max = 3 };

// Windows over the last two dims of [n,c,h,w], in any strides. Groups follow from the channels.
struct CudnnWindows {
  std::array<int64_t, 2> stride, padding, dilation;
};

// What an engine may do.
enum class CudnnEngines {
  any,
  exact  // the same bits in each run, sums in f32 alone, no transforms of the operands
};

class CudnnPlan {
 public:
  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Queues it. Every tensor that isn't an inner one has its pointer; those of numbers point to the
  // host. A failure is a Bug, thrown.
  void run(const std::vector<std::pair<int64_t, const void*>>& pointers, void* workspace,
           void* queue) const;

 private:
  friend class CudnnGraph;
  CudnnPlan(CudnnPtr cudnn, std::deque<CudnnOwned> parts, int64_t workspace_bytes)
      : cudnn_(std::move(cudnn)), parts_(std::move(parts)), workspace_bytes_(workspace_bytes) {}

  CudnnPtr cudnn_;
  std::deque<CudnnOwned> parts_;  // the plan is the last
  int64_t workspace_bytes_;
};

class CudnnGraph {
 public:
  explicit CudnnGraph(CudnnPtr cudnn) : cudnn_(std::move(cudnn)) {}

  // In memory, aligned to 16 bytes.
  int64_t tensor(CudnnType type, const Sizes4& sizes, const Sizes4& strides);
  // A result that only other operations read.
  int64_t inner(CudnnType type, const Sizes4& sizes);
  int64_t inner(CudnnType type, const Sizes4& sizes, const Sizes4& strides);
  int64_t number();  // an f32 of the host

  // Operations return the tensor that they write.
  int64_t matmul(int64_t a, int64_t b, int64_t to);
  int64_t pointwise(CudnnPointwise mode, std::vector<int64_t> from, int64_t to,
                    CudnnType computed_in = CudnnType::f32);
  int64_t index(int64_t like, int64_t dim, int64_t to);
  int64_t reduce(CudnnReduction mode, int64_t from, int64_t to);
  int64_t reshape(int64_t from, int64_t to);
  // small = a convolution of large; its gradients. A weight is [small channels, large channels of a
  // group, h, w].
  int64_t convolve(const CudnnWindows& how, int64_t large, int64_t weight, int64_t small);
  int64_t convolve_to_large(const CudnnWindows& how, int64_t small, int64_t weight, int64_t large);
  int64_t convolve_to_weight(const CudnnWindows& how, int64_t large, int64_t small, int64_t weight);

  // The first of the heuristic's answers that works within the workspace. Unsupported: none does.
  Result<CudnnPlan> plan(int64_t most_workspace_bytes, CudnnEngines engines = CudnnEngines::any) &&;

 private:
  struct Operands {
    int64_t large, weight, small;
  };
  int64_t convolution_of(int kind, int first_attribute, const CudnnWindows& how,
                         const Operands& operands, int64_t to);
  std::vector<CudnnDescriptor> answers(CudnnDescriptor graph, int mode);
  bool is_exact(CudnnDescriptor config);
  CudnnDescriptor made(int kind);
  void set(CudnnDescriptor at, int attribute, CudnnHolds holds, int64_t count, const void* values);
  void finalize(CudnnDescriptor at, const char* what);
  int64_t add_tensor(CudnnType type, const Sizes4& sizes, const Sizes4& strides, bool is_inner,
                     bool is_number);
  int64_t pointwise_of(CudnnPointwise mode, const std::vector<int64_t>& from, int64_t to,
                       CudnnType computed_in, std::optional<int64_t> axis);
  void set_tensor(CudnnDescriptor at, int attribute, int64_t tensor);
  void fail(CudnnStatus status, const char* what);

  const CudnnPtr cudnn_;
  std::deque<CudnnOwned> parts_;
  std::vector<CudnnDescriptor> tensors_, operations_;
  CudnnStatus failed_ = 0;
  std::string failure_;
};

}  // namespace cleave::cuda
