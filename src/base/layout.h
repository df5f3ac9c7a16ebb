// Where the elements of a value lie in its storage, in elements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cleave {

std::vector<int64_t> row_major(const std::vector<int64_t>& shape);
int64_t numel_of(const std::vector<int64_t>& shape);
// From the first element to the end of the last, including gaps; 0 without elements, and 2^62 where
// it is more than that.
int64_t extent_of(std::span<const int64_t> shape, std::span<const int64_t> strides);

struct Layout {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;

  static Layout contiguous(std::vector<int64_t> shape);
  bool is_contiguous() const;  // row-major without gaps (dims of 1 have any stride)
  int64_t numel() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace cleave
