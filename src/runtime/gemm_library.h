// A product on one thread by oneDNN's matmul, in scratch that the caller gives.
//
// oneDNN here is built on OpenMP: it is called with OpenMP's thread count at 1, put back after each
// call, so that no team of threads is ever started.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/gemm.h"

namespace cleave::runtime {

class LibraryGemm {
 public:
  // A product of spec's dimensions with the matrices of C `c_batch` elements apart; c_in only as a
  // row vector with alpha = beta = 1. Null where oneDNN has none. `lanes`: how many calls may run
  // at once without waiting for each other.
  static Result<std::unique_ptr<LibraryGemm>> make(const GemmSpec& spec, int64_t c_batch,
                                                   long lanes);
  ~LibraryGemm();

  int64_t scratch_bytes() const { return scratch_bytes_; }
  const std::string& kernel() const { return kernel_; }
  // Whether it works in the scratch alone, instead of allocating workspace in each call.
  bool allocates_little() const { return kernel_.starts_with("brg"); }
  void run(const void* a, const void* b, const void* c_in, void* c, void* scratch);

 private:
  struct Prepared;
  struct Lane;

  LibraryGemm();
  Lane& take_lane();

  int64_t scratch_bytes_ = 0;
  std::string kernel_;
  std::unique_ptr<Prepared> prepared_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace cleave::runtime
