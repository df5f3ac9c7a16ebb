// The functions of cuDNN 9 that cleave calls, opened at run time, and a handle of them. Names and
// numbers are those of NVIDIA's documentation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backend/cuda/find_library.h"
#include "cleave/dtype.h"

namespace cleave::cuda {

using CudnnStatus = int;  // 0: it worked
using CudnnHandle = struct CudnnHandleTag*;
using CudnnDescriptor = void*;  // of a graph

enum class CudnnType : int { f32 = 0, f64 = 1, f16 = 2, i32 = 4, bf16 = 9, boolean = 11 };
CudnnType cudnn_type(DType dtype);  // of a floating one

// What attributes of graphs hold.
enum class CudnnHolds : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  i64 = 3,
  f32 = 4,
  pointer = 6,
  convolution = 7,
  heuristic = 8,
  numerical_note = 11,
  pointwise = 14,
  descriptor = 15,
  reduction = 18
};

// Of convolutions: what a heuristic says of an algorithm.
struct CudnnAlgorithm {
  int algorithm;
  CudnnStatus status;
  float time;
  size_t workspace_bytes;
  int is_deterministic;
  int math;
  int reserved[3];
};

//   F(name, name in the library, parameters)
#define CLEAVE_CUDNN(F)                                                                            \
  F(create, "cudnnCreate", (CudnnHandle*))                                                         \
  F(destroy, "cudnnDestroy", (CudnnHandle))                                                        \
  F(set_stream, "cudnnSetStream", (CudnnHandle, void*))                                            \
  F(graph_create, "cudnnBackendCreateDescriptor", (int kind, CudnnDescriptor*))                    \
  F(graph_destroy, "cudnnBackendDestroyDescriptor", (CudnnDescriptor))                             \
  F(graph_finalize, "cudnnBackendFinalize", (CudnnDescriptor))                                     \
  F(graph_set, "cudnnBackendSetAttribute",                                                         \
    (CudnnDescriptor, int attribute, CudnnHolds, int64_t, const void*))                            \
  F(graph_get, "cudnnBackendGetAttribute",                                                         \
    (CudnnDescriptor, int attribute, CudnnHolds, int64_t, int64_t*, void*))                        \
  F(graph_execute, "cudnnBackendExecute", (CudnnHandle, CudnnDescriptor, CudnnDescriptor))         \
  F(tensor_create, "cudnnCreateTensorDescriptor", (void**))                                        \
  F(tensor_destroy, "cudnnDestroyTensorDescriptor", (void*))                                       \
  F(tensor_set, "cudnnSetTensorNdDescriptor",                                                      \
    (void*, CudnnType, int, const int* sizes, const int* strides))                                 \
  F(filter_create, "cudnnCreateFilterDescriptor", (void**))                                        \
  F(filter_destroy, "cudnnDestroyFilterDescriptor", (void*))                                       \
  F(filter_set, "cudnnSetFilterNdDescriptor",                                                      \
    (void*, CudnnType, int format, int, const int* sizes))                                         \
  F(convolution_create, "cudnnCreateConvolutionDescriptor", (void**))                              \
  F(convolution_destroy, "cudnnDestroyConvolutionDescriptor", (void*))                             \
  F(convolution_set, "cudnnSetConvolutionNdDescriptor",                                            \
    (void*, int, const int* padding, const int* stride, const int* dilation, int mode, CudnnType)) \
  F(convolution_math, "cudnnSetConvolutionMathType", (void*, int))                                 \
  F(convolution_groups, "cudnnSetConvolutionGroupCount", (void*, int))                             \
  F(forward_algorithms, "cudnnGetConvolutionForwardAlgorithm_v7",                                  \
    (CudnnHandle, void* x, void* w, void*, void* y, int, int*, CudnnAlgorithm*))                   \
  F(data_algorithms, "cudnnGetConvolutionBackwardDataAlgorithm_v7",                                \
    (CudnnHandle, void* w, void* dy, void*, void* dx, int, int*, CudnnAlgorithm*))                 \
  F(filter_algorithms, "cudnnGetConvolutionBackwardFilterAlgorithm_v7",                            \
    (CudnnHandle, void* x, void* dy, void*, void* dw, int, int*, CudnnAlgorithm*))                 \
  F(forward, "cudnnConvolutionForward",                                                            \
    (CudnnHandle, const void* alpha, void*, const void* x, void*, const void* w, void*, int,       \
     void* workspace, size_t, const void* beta, void*, void* y))                                   \
  F(backward_data, "cudnnConvolutionBackwardData",                                                 \
    (CudnnHandle, const void* alpha, void*, const void* w, void*, const void* dy, void*, int,      \
     void* workspace, size_t, const void* beta, void*, void* dx))                                  \
  F(backward_filter, "cudnnConvolutionBackwardFilter",                                             \
    (CudnnHandle, const void* alpha, void*, const void* x, void*, const void* dy, void*, int,      \
     void* workspace, size_t, const void* beta, void*, void* dw))

struct CudnnApi {
#define CLEAVE_MEMBER(name, symbol, parameters) CudnnStatus(*name) parameters = nullptr;
  CLEAVE_CUDNN(CLEAVE_MEMBER)
#undef CLEAVE_MEMBER
  size_t (*version)() = nullptr;                           // 91400 for 9.14.0
  void (*last_error)(char* text, size_t bytes) = nullptr;  // may be null
};

// A handle, made when it is first used: that takes a device. Any thread may ask.
class Cudnn {
 public:
  explicit Cudnn(const CudnnApi& api) : api_(api) {}
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  const CudnnApi& api() const { return api_; }

  // "status 3000: ...": with what the library says of the last failure of this thread.
  std::string message(CudnnStatus status) const;
  // f(handle), whose calls go onto the queue; one thread at a time. A failure to make the handle is
  // a Bug, thrown.
  template <class F>
  auto with_handle(void* queue, const F& f) const {
    const std::lock_guard lock(mutex_);
    return f(made(queue));
  }

 private:
  CudnnHandle made(void* queue) const;

  const CudnnApi api_;
  mutable std::mutex mutex_;
  mutable CudnnHandle handle_ = nullptr;
};

using CudnnPtr = std::shared_ptr<const Cudnn>;

// From an opened library; Unsupported names the function that it lacks.
Result<CudnnApi> find_cudnn(const OpenedLibrary& library);

}  // namespace cleave::cuda
