// A vector whose elements never move: chunks of 64. References stay valid as it grows.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace cleave {

template <class T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(StableVector&&) noexcept = default;
  StableVector& operator=(StableVector&&) noexcept = default;
  StableVector(const StableVector& other) { *this = other; }
  StableVector& operator=(const StableVector& other) {
    if (this == &other) return *this;
    chunks_.clear();
    size_ = 0;
    for (size_t i = 0; i < other.size_; ++i) push_back(other[i]);
    return *this;
  }

  size_t size() const { return size_; }
  T& operator[](size_t i) { return (*chunks_[i / chunk])[i % chunk]; }
  const T& operator[](size_t i) const { return (*chunks_[i / chunk])[i % chunk]; }
  void push_back(T value) {
    if (size_ == chunks_.size() * chunk) chunks_.push_back(std::make_unique<Chunk>());
    (*this)[size_++] = std::move(value);
  }

 private:
  static constexpr size_t chunk = 64;
  using Chunk = std::array<T, chunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  size_t size_ = 0;
};

}  // namespace cleave
