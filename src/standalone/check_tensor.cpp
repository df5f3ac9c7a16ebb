#include "standalone/check_tensor.h"

#include <algorithm>
#include <array>

#include "base/element_address.h"
#include "standalone/strided_copy.h"

namespace cleave::standalone {
namespace {

constexpr int32_t most_dims = 64;

bool same_strides(std::span<const int64_t> shape, std::span<const int64_t> a,
                  std::span<const int64_t> b) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && a[d] != b[d]) return false;
  return true;
}

// Whether no two elements share a byte, as far as dims that are nested one in the other show.
bool are_apart(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  std::array<size_t, most_dims> order{};
  size_t count = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) order[count++] = d;
  const auto dims = std::span(order).first(count);
  std::ranges::sort(dims, {}, [&](size_t d) { return strides[d]; });
  int64_t reach = 0;
  for (const size_t d : dims) {
    if (strides[d] <= reach) return false;
    reach += (shape[d] - 1) * strides[d];
  }
  return true;
}

}  // namespace

std::string type_text(DType dtype, std::span<const int64_t> shape,
                      std::span<const int64_t> strides) {
  std::string out = fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ","));
  if (!is_dense(shape, strides)) out += fmt::format(" strides=[{}]", fmt::join(strides, ","));
  return out;
}

std::span<const int64_t> strides_of(const cleave_tensor& t, int64_t* memory) {
  const auto rank = static_cast<size_t>(t.rank);
  if (t.strides != nullptr) return {t.strides, rank};
  int64_t step = 1;
  for (size_t d = rank; d-- > 0;) {
    memory[d] = step;
    step *= t.shape[d];
  }
  return {memory, rank};
}

Status check_tensor(const TensorEntry& expected, const cleave_tensor* given, Strides strides,
                    std::string_view what, size_t number) {
  const auto wrong = [&](const std::string& text) {
    const std::string position =
        number == std::string::npos ? std::string() : fmt::format(" {}", number);
    return user_error("{}{} `{}`: {}", what, position, expected.name, text);
  };
  if (given == nullptr) return wrong("the tensor is NULL");
  const cleave_tensor& t = *given;
  if (t.dtype < 0 || t.dtype >= dtype_count)
    return wrong(fmt::format("its dtype is {}, expected 0 to {}", t.dtype, dtype_count - 1));
  if (t.rank < 0 || t.rank > most_dims)
    return wrong(fmt::format("its rank is {}, expected 0 to {}", t.rank, most_dims));
  if (t.rank > 0 && t.shape == nullptr) return wrong("its shape is NULL");
  const auto dtype = static_cast<DType>(t.dtype);
  const std::span<const int64_t> shape(t.shape, static_cast<size_t>(t.rank));
  const auto text = [&] { return type_text(expected.dtype, expected.shape, expected.strides); };
  if (dtype != expected.dtype || !std::ranges::equal(shape, expected.shape))
    return wrong(
        fmt::format("it is {}[{}], expected {}", name_of(dtype), fmt::join(shape, ","), text()));
  const int64_t bytes = extent_bytes(expected.shape, expected.strides, expected.dtype);
  if (bytes == 0) return {};
  if (t.data == nullptr) return wrong("its data is NULL");
  if (!is_aligned(t.data, dtype))
    return wrong(fmt::format("its address is no multiple of the {} bytes of {}",
                             alignment_of(dtype), name_of(dtype)));
  std::array<int64_t, most_dims> row_major{};
  const std::span<const int64_t> by = strides_of(t, row_major.data());
  if (strides == Strides::given && !same_strides(shape, by, expected.strides))
    return wrong(fmt::format("its strides are [{}], expected {}", fmt::join(by, ","), text()));
  if (std::ranges::any_of(by, [](int64_t s) { return s < 0; }))
    return wrong(fmt::format("its strides are [{}], expected none below 0", fmt::join(by, ",")));
  if (strides == Strides::apart && !are_apart(shape, by))
    return wrong(
        fmt::format("its strides are [{}], by which elements overlap", fmt::join(by, ",")));
  return {};
}

}  // namespace cleave::standalone
