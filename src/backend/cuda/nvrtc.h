// NVIDIA's compiler of CUDA C text, in this process. It needs no GPU and no driver.
//
//   CLEAVE_TRY(auto compiler, Nvrtc::here());
//   CLEAVE_TRY(auto cubin, compiler->compile("extern \"C\" __global__ void k(float *x) {...}", 90,
//                                            "unit0"));
//
// The text is C++17 without the standard library and without headers of CUDA; functions that say
// nothing else are the device's. No multiply-add is contracted, divisions and square roots are
// rounded as IEEE 754 says, subnormal numbers stay.
#pragma once
#include <mutex>
#include <vector>

#include "backend/cuda/find_library.h"

namespace cleave::cuda {

class Nvrtc {
 public:
  // Error (unsupported): there is none, with the package that has it.
  static Result<std::shared_ptr<Nvrtc>> open(const LibraryPlaces& places);
  // That of this process, opened once.
  static Result<std::shared_ptr<Nvrtc>> here();

  // Machine code for the architecture (90 for sm_90). `unit_name` is used in diagnostics. Any
  // number of threads. Errors: bug with what it says if the text doesn't compile; unsupported for
  // an architecture that this version doesn't know; user if there is no memory.
  Result<std::vector<std::byte>> compile(const std::string& text, int arch,
                                         const std::string& unit_name);
  // All that the machine code depends on beside the text: "nvrtc 13.0 sm_90 -fmad=false ...".
  std::string identity(int arch) const;
  const std::string& path() const { return path_; }
  int version() const { return version_; }  // 13000 for 13.0
  // Architectures that it compiles for, rising.
  const std::vector<int>& archs() const { return archs_; }

 private:
  // Of nvrtc.h: nvrtcProgram, nvrtcResult.
  using Program = struct ProgramTag*;
  struct Api {
    int (*version)(int*, int*);
    int (*arch_count)(int*);
    int (*archs)(int*);
    const char* (*message)(int);
    int (*create)(Program*, const char* text, const char* name, int headers,
                  const char* const* header_texts, const char* const* header_names);
    int (*destroy)(Program*);
    int (*compile)(Program, int count, const char* const* options);
    int (*log_size)(Program, size_t*);
    int (*log)(Program, char*);
    int (*code_size)(Program, size_t*);
    int (*code)(Program, char*);
  };
  Nvrtc(const Api& api, std::string path) : api_(api), path_(std::move(path)) {}
  Failure failed(Program program, int code, const std::string& unit_name) const;

  const Api api_;
  const std::string path_;
  int version_ = 0;
  std::vector<int> archs_;
  std::vector<const char*> options_ = {"-fmad=false", "--std=c++17", "-default-device"};
};
using NvrtcPtr = std::shared_ptr<Nvrtc>;

}  // namespace cleave::cuda
