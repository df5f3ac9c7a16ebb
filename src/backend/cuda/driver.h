// The functions of NVIDIA's driver that cleave calls, under their own names. Types and numbers are
// those of its documentation ("CUDA Driver API", 13.0); what they mean stands there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cuda/find_library.h"

namespace cleave::cuda {

using CUresult = int;  // 0: it worked
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

constexpr CUresult cuda_out_of_memory = 2;
enum CudaAttribute : int {  // CUdevice_attribute
  cuda_multiprocessors = 16,
  cuda_major = 75,
  cuda_minor = 76,
  cuda_shared_bytes = 97,  // the most of a block, where the function asks for it
};
enum CudaFunctionAttribute : int {  // CUfunction_attribute
  cuda_max_threads = 0,             // of a block, which its registers allow
  cuda_dynamic_shared_bytes = 8,
};
// The arguments of a launch as one range of bytes: {buffer, its address, size, address of it, end}.
inline void* const cuda_arguments_buffer = reinterpret_cast<void*>(1);
inline void* const cuda_arguments_size = reinterpret_cast<void*>(2);
constexpr unsigned cuda_stream_non_blocking = 1;
constexpr unsigned cuda_event_without_time = 2;
constexpr int cuda_capture_thread_local = 1;

//   F(name, name in the library, parameters)
#define CLEAVE_CUDA_DRIVER(F)                                                                    \
  F(cuInit, "cuInit", (unsigned flags))                                                          \
  F(cuDriverGetVersion, "cuDriverGetVersion", (int*))                                            \
  F(cuGetErrorName, "cuGetErrorName", (CUresult, const char**))                                  \
  F(cuGetErrorString, "cuGetErrorString", (CUresult, const char**))                              \
  F(cuDeviceGetCount, "cuDeviceGetCount", (int*))                                                \
  F(cuDeviceGet, "cuDeviceGet", (CUdevice*, int index))                                          \
  F(cuDeviceGetName, "cuDeviceGetName", (char*, int size, CUdevice))                             \
  F(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                                \
  F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int*, CudaAttribute, CUdevice))               \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                \
  F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                       \
  F(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                             \
  F(cuMemGetInfo, "cuMemGetInfo_v2", (size_t* free, size_t* total))                              \
  F(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                         \
  F(cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                                    \
  F(cuMemHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned flags))                          \
  F(cuMemFreeHost, "cuMemFreeHost", (void*))                                                     \
  F(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void*, size_t, CUstream))     \
  F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, CUdeviceptr, size_t, CUstream))           \
  F(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))     \
  F(cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))          \
  F(cuStreamCreate, "cuStreamCreate", (CUstream*, unsigned flags))                               \
  F(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream))                                           \
  F(cuStreamSynchronize, "cuStreamSynchronize", (CUstream))                                      \
  F(cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned flags))                 \
  F(cuEventCreate, "cuEventCreate", (CUevent*, unsigned flags))                                  \
  F(cuEventDestroy, "cuEventDestroy_v2", (CUevent))                                              \
  F(cuEventRecord, "cuEventRecord", (CUevent, CUstream))                                         \
  F(cuEventSynchronize, "cuEventSynchronize", (CUevent))                                         \
  F(cuEventElapsedTime, "cuEventElapsedTime", (float* ms, CUevent, CUevent))                     \
  F(cuLaunchHostFunc, "cuLaunchHostFunc", (CUstream, void (*)(void*), void*))                    \
  F(cuModuleLoadData, "cuModuleLoadData", (CUmodule*, const void* image))                        \
  F(cuModuleUnload, "cuModuleUnload", (CUmodule))                                                \
  F(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))            \
  F(cuFuncGetAttribute, "cuFuncGetAttribute", (int*, CudaFunctionAttribute, CUfunction))         \
  F(cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction, CudaFunctionAttribute, int))          \
  F(cuLaunchKernel, "cuLaunchKernel",                                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
     void** arguments, void** extra))                                                            \
  F(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int mode))                       \
  F(cuStreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph*))                              \
  F(cuGraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec*, CUgraph, uint64_t flags))  \
  F(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                                     \
  F(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))                                     \
  F(cuGraphDestroy, "cuGraphDestroy", (CUgraph))

struct Driver {
  // Opens it and starts it. Errors (unsupported): there is none, or one too old for what cleave
  // calls, or it finds no GPU.
  static Result<std::shared_ptr<const Driver>> open(const LibraryPlaces& places);
  // That of this process, opened once.
  static Result<std::shared_ptr<const Driver>> here();

  std::string path;
  int version = 0;  // 13000 for 13.0: of CUDA that it can run

  // "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"
  std::string message(CUresult code) const;
  // Bug with what the device says, which may be of a call before; `what` was tried.
  Status check(CUresult code, std::string_view what) const;

#define CLEAVE_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  CLEAVE_CUDA_DRIVER(CLEAVE_MEMBER)
#undef CLEAVE_MEMBER
};
using DriverPtr = std::shared_ptr<const Driver>;

// "13.0"
std::string version_text(int version);

}  // namespace cleave::cuda
