// Where the elements of a value lie in its storage, in elements.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave {

std::vector<int64_t> row_major(const std::vector<int64_t>& shape);
int64_t numel_of(const std::vector<int64_t>& shape);

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
