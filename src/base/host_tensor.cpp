// HostTensor: memory, layout, element access, conversion. bf16 and f16 are converted by their bits.
#include "cleave/host_tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "base/layout.h"
#include "base/poison.h"
#include "base/result.h"

namespace cleave {
namespace {

constexpr int64_t max_bytes = int64_t{1} << 60;

[[noreturn]] void refuse(std::string text) { throw_failure({ErrorKind::user, std::move(text)}); }

std::string text_of(DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ","));
}

int64_t checked_numel(DType dtype, const std::vector<int64_t>& shape) {
  int64_t product = size_of(dtype);
  bool empty = false;
  for (const int64_t d : shape) {
    if (d < 0)
      refuse(fmt::format("HostTensor: shape: dim {} is negative: {}", d, text_of(dtype, shape)));
    if (d == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, d, &product) || product > max_bytes)
      refuse(fmt::format("HostTensor: shape: more than 2^60 bytes: {}", text_of(dtype, shape)));
  }
  return empty ? 0 : product / size_of(dtype);
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> out(shape.size());
  int64_t inner = 1;
  for (size_t d = shape.size(); d-- > 0; inner *= std::max<int64_t>(shape[d], 1)) out[d] = inner;
  return out;
}

// From the first element to the end of the last, in elements; refuses what is too much.
int64_t checked_extent(DType dtype, const std::vector<int64_t>& shape,
                       const std::vector<int64_t>& strides) {
  const auto text = [&] {
    return fmt::format("{}{{{}}}", text_of(dtype, shape), fmt::join(strides, ","));
  };
  if (strides.size() != shape.size())
    refuse(fmt::format("HostTensor: strides: {} for {} dims: {}", strides.size(), shape.size(),
                       text()));
  for (const int64_t stride : strides)
    if (stride < 0) refuse(fmt::format("HostTensor: strides: {} is negative: {}", stride, text()));
  const int64_t extent = extent_of(shape, strides);
  if (extent > max_bytes / size_of(dtype))
    refuse(fmt::format("HostTensor: strides: more than 2^60 bytes: {}", text()));
  return extent;
}

// The bytes of elements of one shape from one layout to another, dim by dim.
class ElementCopy {
 public:
  ElementCopy(const HostTensor& to, const HostTensor& from)
      : to_(to), from_(from), dims_(to.rank()) {
    // Inner dims that are dense in both are one run of bytes.
    int64_t inner = 1;
    while (dims_ > 0 && (size(dims_ - 1) == 1 ||
                         (to.stride(dims_ - 1) == inner && from.stride(dims_ - 1) == inner)))
      inner *= size(--dims_);
    run_bytes_ = static_cast<size_t>(inner * size_of(to.dtype()));
  }
  void run(std::byte* to, const std::byte* from, int64_t d = 0) const {
    if (d == dims_) {
      std::memmove(to, from, run_bytes_);
      return;
    }
    const int64_t to_step = to_.stride(d) * size_of(to_.dtype());
    const int64_t from_step = from_.stride(d) * size_of(to_.dtype());
    for (int64_t i = 0; i < size(d); ++i) run(to + i * to_step, from + i * from_step, d + 1);
  }

 private:
  int64_t size(int64_t d) const { return to_.shape()[static_cast<size_t>(d)]; }
  const HostTensor &to_, &from_;
  int64_t dims_;
  size_t run_bytes_ = 0;
};

// Large memory is mapped page by page, already zero: for gigabytes of optimizer state the cost is
// paid when they are first written, not here, where calloc may clear memory that was used before.
std::shared_ptr<void> zeroed_pages(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse(fmt::format("HostTensor: memory: {} bytes are not there", size));
  return {memory, [size](void* first) { munmap(first, size); }};
}

std::shared_ptr<void> aligned_zeros(int64_t bytes) {
  constexpr size_t line = 64, min_pages = size_t{64} << 10;
  // Whole cache lines, so that the last vector of a kernel stays within the allocation.
  const size_t size = std::max<size_t>((static_cast<size_t>(bytes) + line - 1) / line, 1) * line;
  if (size >= min_pages && !watches_memory) return zeroed_pages(size);
  void* memory = std::aligned_alloc(line, size);
  if (memory == nullptr) refuse(fmt::format("HostTensor: memory: {} bytes are not there", size));
  std::memset(memory, 0, size);
  return {memory, [](void* first) { std::free(first); }};
}

// The 16-bit format with `exponent` exponent bits that is nearest to x, ties to even. The scaling
// is exact in float64, so nearbyint rounds once.
uint16_t to_half_bits(double x, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | infinity | (1 << (mantissa_bits - 1)));
  const double a = std::fabs(x);
  if (a == 0) return sign;
  if (std::isinf(a)) return sign | infinity;
  const int e = std::max(std::ilogb(a), 1 - bias);
  const double units = std::nearbyint(std::scalbn(a, mantissa_bits - e));
  // `units` counts steps of 2^(e - mantissa_bits); a carry into the next exponent needs no special
  // case.
  const double steps = (e + bias - 1) * std::exp2(mantissa_bits) + units;
  return sign | (steps >= infinity ? infinity : static_cast<uint16_t>(steps));
}

double from_half_bits(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int e = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  double a;
  if (e == (1 << exponent_bits) - 1)
    a = mantissa ? std::numeric_limits<double>::quiet_NaN()
                 : std::numeric_limits<double>::infinity();
  else
    a = e == 0 ? std::scalbn(mantissa, 1 - bias - mantissa_bits)
               : std::scalbn(mantissa + (1 << mantissa_bits), e - bias - mantissa_bits);
  return bits & 0x8000 ? -a : a;
}

template <class T>
T element(const void* data, int64_t k) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + k * int64_t{sizeof(T)}, sizeof(T));
  return v;
}
template <class T>
void put(void* data, int64_t k, T v) {
  std::memcpy(static_cast<char*>(data) + k * int64_t{sizeof(T)}, &v, sizeof(T));
}

int64_t truncated(double x) {
  if (!(x >= -0x1p63 && x < 0x1p63)) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

void put_integer(DType t, void* data, int64_t k, int64_t v) {
  switch (t) {
    case DType::i64: return put(data, k, v);
    case DType::i32: return put(data, k, static_cast<int32_t>(v));
    case DType::i16: return put(data, k, static_cast<int16_t>(v));
    case DType::i8: return put(data, k, static_cast<int8_t>(v));
    case DType::u8: return put(data, k, static_cast<uint8_t>(v));
    case DType::boolean: return put(data, k, static_cast<uint8_t>(v != 0));
    default: return;
  }
}

}  // namespace

HostTensor::HostTensor() : HostTensor(DType::f32, {0}) {}

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), numel_(checked_numel(dtype_, shape_)),
      data_(aligned_zeros(numel_ * size_of(dtype_))) {}

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  set_layout(dtype, std::move(shape), std::move(strides));
  data_ = aligned_zeros(extent_bytes());
}

HostTensor::HostTensor(const HostTensor& other)
    : dtype_(other.dtype_), shape_(other.shape_), strides_(other.strides_), numel_(other.numel_),
      data_(aligned_zeros(other.extent_bytes())) {
  copy_from(other);
}

// The moved-from tensor is f32[0] without memory.
HostTensor::HostTensor(HostTensor&& other) noexcept
    : dtype_(std::exchange(other.dtype_, DType::f32)),
      borrows_(std::exchange(other.borrows_, false)),
      shape_(std::exchange(other.shape_, std::vector<int64_t>{0})),
      strides_(std::exchange(other.strides_, {})), numel_(std::exchange(other.numel_, 0)),
      data_(std::move(other.data_)) {}

HostTensor& HostTensor::operator=(const HostTensor& other) {
  if (this != &other) *this = HostTensor(other);
  return *this;
}

HostTensor& HostTensor::operator=(HostTensor&& other) noexcept {
  HostTensor taken(std::move(other));
  dtype_ = taken.dtype_;
  borrows_ = taken.borrows_;
  shape_.swap(taken.shape_);
  strides_.swap(taken.strides_);
  numel_ = taken.numel_;
  data_.swap(taken.data_);
  return *this;
}

HostTensor HostTensor::borrow(DType dtype, std::vector<int64_t> shape, void* data,
                              std::shared_ptr<void> keep) {
  checked_numel(dtype, shape);  // before products of its sizes
  std::vector<int64_t> strides = row_major_strides(shape);
  return borrow(dtype, std::move(shape), std::move(strides), data, std::move(keep));
}

HostTensor HostTensor::borrow(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                              void* data, std::shared_ptr<void> keep) {
  HostTensor t;
  t.set_layout(dtype, std::move(shape), std::move(strides));
  if (data == nullptr && t.numel_ > 0)
    refuse(fmt::format("HostTensor: memory: a null pointer for {}", t.type_text()));
  t.borrows_ = true;
  t.data_ = std::shared_ptr<void>(std::move(keep), data);
  return t;
}

// Keeps no strides where they are row-major.
void HostTensor::set_layout(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  numel_ = checked_numel(dtype, shape);
  checked_extent(dtype, shape, strides);
  bool differs = false;
  int64_t inner = 1, row_major = 1;  // the stride that a dense next dim would have
  for (size_t d = shape.size(); d-- > 0 && numel_ > 0;) {
    if (shape[d] == 1) strides[d] = inner;
    differs |= shape[d] != 1 && strides[d] != row_major;
    inner = shape[d] * strides[d];
    row_major *= shape[d];
  }
  dtype_ = dtype;
  shape_ = std::move(shape);
  strides_ = differs ? std::move(strides) : std::vector<int64_t>();
}

std::vector<int64_t> HostTensor::strides() const {
  return strides_.empty() ? row_major_strides(shape_) : strides_;
}

int64_t HostTensor::stride(int64_t dim) const {
  if (dim < 0 || dim >= rank())
    refuse(fmt::format("HostTensor: stride: dim {} is outside [0, {}) of {}", dim, rank(),
                       type_text()));
  if (!strides_.empty()) return strides_[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (int64_t d = rank(); --d > dim;)
    inner *= std::max<int64_t>(shape_[static_cast<size_t>(d)], 1);
  return inner;
}

int64_t HostTensor::extent_bytes() const {
  return strides_.empty() ? bytes() : checked_extent(dtype_, shape_, strides_) * size_of(dtype_);
}

int64_t HostTensor::place_of(int64_t k) const {
  if (strides_.empty()) return k;
  int64_t place = 0;
  for (size_t d = shape_.size(); d-- > 0; k /= shape_[d]) place += k % shape_[d] * strides_[d];
  return place;
}

HostTensor HostTensor::scalar(double value, DType dtype) {
  HostTensor t(dtype, {});
  t.set_number(0, value);
  return t;
}

std::string HostTensor::type_text() const {
  if (strides_.empty()) return text_of(dtype_, shape_);
  return fmt::format("{}{{{}}}", text_of(dtype_, shape_), fmt::join(strides_, ","));
}

int64_t HostTensor::integer(int64_t k) const {
  switch (dtype_) {
    case DType::i64: return element<int64_t>(data(), place_of(k));
    case DType::i32: return element<int32_t>(data(), place_of(k));
    case DType::i16: return element<int16_t>(data(), place_of(k));
    case DType::i8: return element<int8_t>(data(), place_of(k));
    case DType::u8: return element<uint8_t>(data(), place_of(k));
    case DType::boolean: return element<uint8_t>(data(), place_of(k)) != 0;
    default: return truncated(number(k));
  }
}

double HostTensor::number(int64_t k) const {
  if (k < 0 || k >= numel_)
    refuse(fmt::format("HostTensor: index: {} is outside [0, {}) of {}", k, numel_, type_text()));
  switch (dtype_) {
    case DType::f64: return element<double>(data(), place_of(k));
    case DType::f32: return element<float>(data(), place_of(k));
    case DType::bf16: return from_half_bits(element<uint16_t>(data(), place_of(k)), 8);
    case DType::f16: return from_half_bits(element<uint16_t>(data(), place_of(k)), 5);
    case DType::c64: refuse("HostTensor: dtype: c64 has no elements as numbers");
    default: return static_cast<double>(integer(k));
  }
}

void HostTensor::set_number(int64_t k, double value) {
  if (k < 0 || k >= numel_)
    refuse(fmt::format("HostTensor: index: {} is outside [0, {}) of {}", k, numel_, type_text()));
  switch (dtype_) {
    case DType::f64: return put(data(), place_of(k), value);
    case DType::f32: return put(data(), place_of(k), static_cast<float>(value));
    case DType::bf16: return put(data(), place_of(k), to_half_bits(value, 8));
    case DType::f16: return put(data(), place_of(k), to_half_bits(value, 5));
    case DType::c64: refuse("HostTensor: dtype: c64 has no elements as numbers");
    case DType::boolean: return put(data(), place_of(k), static_cast<uint8_t>(value != 0));
    default: return put_integer(dtype_, data(), place_of(k), truncated(value));
  }
}

double HostTensor::item() const {
  if (numel_ != 1)
    refuse(fmt::format("HostTensor: item: {} has {} elements, expected one", type_text(), numel_));
  return number(0);
}

HostTensor HostTensor::to(DType dtype) const {
  if (dtype == dtype_) return contiguous();
  HostTensor out(dtype, shape_);
  for (int64_t k = 0; k < numel_; ++k) {
    if (is_floating(dtype) || is_floating(dtype_))
      out.set_number(k, number(k));
    else
      put_integer(dtype, out.data(), k, integer(k));
  }
  return out;
}

HostTensor HostTensor::reshaped(std::vector<int64_t> shape) const {
  if (checked_numel(dtype_, shape) != numel_)
    refuse(fmt::format("HostTensor: reshaped: {} has {} elements, {} has another number",
                       type_text(), numel_, text_of(dtype_, shape)));
  HostTensor out = contiguous();
  out.shape_ = std::move(shape);
  return out;
}

HostTensor HostTensor::contiguous() const {
  HostTensor out(dtype_, shape_);
  out.copy_from(*this);
  return out;
}

void HostTensor::copy_from(const HostTensor& other) {
  if (dtype_ != other.dtype_ || shape_ != other.shape_)
    refuse(
        fmt::format("HostTensor: copy_from: got {}, expected {}", other.type_text(), type_text()));
  if (bytes() == 0) return;
  if (is_row_major() && other.is_row_major()) {
    std::memmove(data(), other.data(), static_cast<size_t>(bytes()));
    return;
  }
  ElementCopy(*this, other)
      .run(static_cast<std::byte*>(data()), static_cast<const std::byte*>(other.data()));
}

bool HostTensor::same_bits(const HostTensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  if (!is_row_major()) return contiguous().same_bits(other);
  if (!other.is_row_major()) return same_bits(other.contiguous());
  return bytes() == 0 || std::memcmp(data(), other.data(), static_cast<size_t>(bytes())) == 0;
}

int64_t HostTensor::position(std::initializer_list<int64_t> index) const {
  const bool fits = index.size() == shape_.size();
  int64_t at = 0;
  size_t d = 0;
  for (const int64_t i : index) {
    if (!fits || i < 0 || i >= shape_[d])
      refuse(
          fmt::format("HostTensor: index: [{}] is outside {}", fmt::join(index, ","), type_text()));
    at = strides_.empty() ? at * shape_[d] + i : at + i * strides_[d];
    ++d;
  }
  if (!fits) refuse(fmt::format("HostTensor: index: [] is outside {}", type_text()));
  return at;
}

void HostTensor::require_type(bool ok, std::string_view asked) const {
  if (!ok)
    refuse(fmt::format("HostTensor: dtype: {} elements of {} were asked for", asked, type_text()));
}

void HostTensor::require_row_major() const {
  if (!is_row_major())
    refuse(fmt::format(
        "HostTensor: strides: data<T>() and span<T>() are row-major, and {} isn't; at() and "
        "number() go by index, contiguous() makes a row-major copy, data() is its first element",
        type_text()));
}

void HostTensor::require_count(size_t count) const {
  if (static_cast<int64_t>(count) != numel_)
    refuse(fmt::format("HostTensor: from: {} values for {}", count, type_text()));
}

}  // namespace cleave
