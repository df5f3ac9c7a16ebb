// A vector whose elements never move: references stay valid when it grows.
//
//   chunk    0        1                2
//           [8 ...]  [16 ...........]  [32 ...]      element i is in chunk log2(i / 8 + 1)
//
// Chunks double in size: a small vector is small, and memory is at most twice what is used.
#pragma once
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace cleave {

template <class T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(StableVector&& other) noexcept { *this = std::move(other); }
  StableVector& operator=(StableVector&& other) noexcept {
    std::swap(chunks_, other.chunks_);
    std::swap(size_, other.size_);
    return *this;
  }
  StableVector(const StableVector& other) { *this = other; }
  StableVector& operator=(const StableVector& other) {
    if (this == &other) return *this;
    clear();
    for (size_t i = 0; i < other.size_; ++i) push_back(other[i]);
    return *this;
  }
  ~StableVector() { clear(); }

  size_t size() const { return size_; }
  T& operator[](size_t i) { return *at(i); }
  const T& operator[](size_t i) const { return *at(i); }
  void push_back(T value) {
    const size_t c = chunk_of(size_);
    if (c == chunks_.size()) chunks_.push_back(std::allocator<T>().allocate(first_chunk << c));
    std::construct_at(at(size_), std::move(value));
    ++size_;
  }
  void clear() {
    while (size_ > 0) std::destroy_at(at(--size_));
    for (size_t c = 0; c < chunks_.size(); ++c)
      std::allocator<T>().deallocate(chunks_[c], first_chunk << c);
    chunks_.clear();
  }

 private:
  static constexpr size_t first_chunk = 8;
  static size_t chunk_of(size_t i) { return std::bit_width(i / first_chunk + 1) - 1; }
  T* at(size_t i) const {
    const size_t c = chunk_of(i);
    return chunks_[c] + (i - first_chunk * ((size_t{1} << c) - 1));
  }

  std::vector<T*> chunks_;
  size_t size_ = 0;
};

}  // namespace cleave
