#include "standalone/check_tensor.h"

#include <algorithm>
#include <array>

#include "base/element_address.h"
#include "standalone/strided_copy.h"

namespace cleave::standalone {
namespace {

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

std::string type_text(DType dtype, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ","));
}

std::string type_text(const TensorType& t) {
  std::string out = type_text(t.dtype, t.shape);
  if (!is_dense(t.shape, t.strides)) out += fmt::format(" strides=[{}]", fmt::join(t.strides, ","));
  return out;
}

std::span<const int64_t> shape_of(const cleave_tensor& t) {
  return {t.shape, static_cast<size_t>(t.rank)};
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

Failure wrong_tensor(const Whose& whose, const std::string& text) {
  const std::string number = whose.number ? fmt::format(" {}", *whose.number) : std::string();
  return user_error("{}{} `{}`: {}", whose.what, number, whose.name, text);
}

Status check_form(const cleave_tensor* given, const Whose& whose) {
  if (given == nullptr) return wrong_tensor(whose, "the tensor is NULL");
  const cleave_tensor& t = *given;
  if (t.dtype < 0 || t.dtype >= dtype_count)
    return wrong_tensor(whose,
                        fmt::format("its dtype is {}, expected 0 to {}", t.dtype, dtype_count - 1));
  if (t.rank < 0 || t.rank > most_dims)
    return wrong_tensor(whose, fmt::format("its rank is {}, expected 0 to {}", t.rank, most_dims));
  if (t.rank > 0 && t.shape == nullptr) return wrong_tensor(whose, "its shape is NULL");
  return {};
}

Status check_tensor(const TensorType& expected, const cleave_tensor* given, Strides strides,
                    const Whose& whose) {
  CLEAVE_CHECK(check_form(given, whose));
  const cleave_tensor& t = *given;
  const auto wrong = [&](const std::string& text) { return wrong_tensor(whose, text); };
  const auto dtype = static_cast<DType>(t.dtype);
  const std::span<const int64_t> shape = shape_of(t);
  if (dtype != expected.dtype || !std::ranges::equal(shape, expected.shape))
    return wrong(
        fmt::format("it is {}, expected {}", type_text(dtype, shape), type_text(expected)));
  if (bytes_of(expected) == 0) return {};
  if (t.data == nullptr) return wrong("its data is NULL");
  if (!is_aligned(t.data, dtype))
    return wrong(fmt::format("its address is no multiple of the {} bytes of {}",
                             alignment_of(dtype), name_of(dtype)));
  std::array<int64_t, most_dims> row_major{};
  const std::span<const int64_t> by = strides_of(t, row_major.data());
  if (strides == Strides::given && !same_strides(shape, by, expected.strides))
    return wrong(
        fmt::format("its strides are [{}], expected {}", fmt::join(by, ","), type_text(expected)));
  if (std::ranges::any_of(by, [](int64_t s) { return s < 0; }))
    return wrong(fmt::format("its strides are [{}], expected none below 0", fmt::join(by, ",")));
  if (strides == Strides::apart && !are_apart(shape, by))
    return wrong(
        fmt::format("its strides are [{}], by which elements overlap", fmt::join(by, ",")));
  return {};
}

}  // namespace cleave::standalone
