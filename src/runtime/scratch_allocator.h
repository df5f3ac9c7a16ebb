// Allocates arrays one after another in a call's scratch, each aligned to a cache line. Without
// scratch it only counts the bytes.
#pragma once
#include <cstdint>

namespace cleave::runtime {

class ScratchAllocator {
 public:
  explicit ScratchAllocator(void* scratch) : at_(static_cast<char*>(scratch)) {}
  template <class T>
  T* of(int64_t count) {
    char* piece = at_ == nullptr ? nullptr : at_ + bytes_;
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  float* operator()(int64_t floats) { return of<float>(floats); }
  int64_t bytes() const { return bytes_; }

 private:
  char* at_;
  int64_t bytes_ = 0;
};

}  // namespace cleave::runtime
