#include "import/onnx/tensor_data.h"

#include <cstring>

#include "import/onnx/external_data.h"

namespace cleave::onnx {
namespace {

// Element k of those packed in a byte or less, as ONNX packs them: the lowest bits first.
int64_t packed_bits(std::span<const std::byte> bytes, int64_t k, int64_t width) {
  const int64_t at = k * width;
  const unsigned byte = std::to_integer<unsigned>(bytes[static_cast<size_t>(at / 8)]);
  return byte >> (at % 8) & ((1U << width) - 1);
}

int64_t signed_bits(int64_t bits, int64_t width) {
  return bits >= int64_t{1} << (width - 1) ? bits - (int64_t{1} << width) : bits;
}

// From the bits of a type that cleave lacks, or of one of 8 bits.
void set_from_bits(HostTensor& to, int64_t k, Element e, int64_t bits) {
  if (is_small_float(e)) {
    to.data<float>()[k] = static_cast<float>(small_float_value(e, static_cast<unsigned>(bits)));
    return;
  }
  const int64_t value =
      is_unsigned(e) || e == Element::boolean ? bits : signed_bits(bits, bits_of(e));
  switch (to.dtype()) {
    case DType::u8: to.data<uint8_t>()[k] = static_cast<uint8_t>(value); break;
    case DType::i8: to.data<int8_t>()[k] = static_cast<int8_t>(value); break;
    case DType::i32: to.data<int32_t>()[k] = static_cast<int32_t>(value); break;
    case DType::i64: to.data<int64_t>()[k] = value; break;
    default: to.set_number(k, static_cast<double>(value)); break;
  }
}

// Raw bytes: as in memory for what cleave has, unpacked for the rest.
void fill_raw(HostTensor& to, Element e, std::span<const std::byte> bytes) {
  if (!is_carried(e) || e == Element::u64) {
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return;
  }
  const int64_t width = bits_of(e);
  for (int64_t k = 0; k < to.numel(); ++k) {
    int64_t bits = 0;
    if (width <= 8) {
      bits = packed_bits(bytes, k, width);
    } else {
      std::memcpy(&bits, bytes.data() + k * width / 8, static_cast<size_t>(width / 8));
    }
    set_from_bits(to, k, e, bits);
  }
}

Status check_count(size_t given, int64_t expected) {
  if (given == static_cast<size_t>(expected)) return {};
  return user_error("has {} elements, expected {}", given, expected);
}

Status fill_ints(HostTensor& to, Element e, const std::vector<int64_t>& ints) {
  const int64_t width = bits_of(e);
  if (width < 8) {  // packed in bytes, a byte in each number
    std::vector<std::byte> bytes;
    for (const int64_t i : ints) bytes.push_back(static_cast<std::byte>(i & 255));
    if (static_cast<int64_t>(bytes.size()) < (to.numel() * width + 7) / 8)
      return check_count(bytes.size() * 8 / static_cast<size_t>(width), to.numel());
    fill_raw(to, e, bytes);
    return {};
  }
  CLEAVE_CHECK(check_count(ints.size(), to.numel()));
  for (int64_t k = 0; k < to.numel(); ++k) {
    const int64_t i = ints[static_cast<size_t>(k)];
    if (is_carried(e)) {
      set_from_bits(to, k, e, width == 64 ? i : i & ((int64_t{1} << width) - 1));
    } else if (e == Element::f16 || e == Element::bf16) {
      to.data<uint16_t>()[k] = static_cast<uint16_t>(i);
    } else {
      switch (to.dtype()) {
        case DType::i64: to.data<int64_t>()[k] = i; break;
        case DType::i32: to.data<int32_t>()[k] = static_cast<int32_t>(i); break;
        case DType::i16: to.data<int16_t>()[k] = static_cast<int16_t>(i); break;
        case DType::i8: to.data<int8_t>()[k] = static_cast<int8_t>(i); break;
        case DType::u8: to.data<uint8_t>()[k] = static_cast<uint8_t>(i); break;
        case DType::boolean: to.data<bool>()[k] = i != 0; break;
        default: return user_error("holds integers, expected {}", name_of(e));
      }
    }
  }
  return {};
}

}  // namespace

Result<int64_t> count_elements(const TensorProto& t) {
  int64_t count = 1;
  bool empty = false;
  if (t.dims.size() > 64) return user_error("has {} dims, expected at most 64", t.dims.size());
  for (const int64_t d : t.dims) {
    if (d < 0) return user_error("has a dim of {}", d);
    if (d == 0) empty = true;
    if (d > 0 && __builtin_mul_overflow(count, d, &count))
      return user_error("has more elements than 2^60 bytes hold");
  }
  if (count > int64_t{1} << 56) return user_error("has more elements than 2^60 bytes hold");
  return empty ? 0 : count;
}

Result<HostTensor> read_elements(const TensorProto& t, const DataFolder& folder) {
  const std::optional<DType> dtype = carrier(t.element);
  if (!dtype) return unsupported("holds elements of {}", name_of(t.element));
  CLEAVE_TRY(const int64_t count, count_elements(t));
  const size_t bytes = static_cast<size_t>((count * bits_of(t.element) + 7) / 8);
  std::vector<std::byte> outside;
  std::span<const std::byte> raw = t.raw;
  if (t.external) {
    CLEAVE_TRY(outside, read_external(t, folder, bytes));
    raw = outside;
  }
  if (t.external || t.has_raw) {
    if (raw.size() != bytes) return user_error("has {} bytes, expected {}", raw.size(), bytes);
    HostTensor to(*dtype, t.dims);
    fill_raw(to, t.element, raw);
    return to;
  }
  // Everything is counted before memory is taken.
  const bool floats = t.element == Element::f32, doubles = t.element == Element::f64;
  if (floats) CLEAVE_CHECK(check_count(t.float_data.size(), count));
  if (doubles) CLEAVE_CHECK(check_count(t.double_data.size(), count));
  if (!floats && !doubles && static_cast<int64_t>(t.int_data.size()) < (count + 3) / 4)
    return user_error("has {} elements, expected {}", t.int_data.size(), count);
  HostTensor to(*dtype, t.dims);
  if (count == 0) return to;
  if (floats) std::memcpy(to.data(), t.float_data.data(), bytes);
  if (doubles) std::memcpy(to.data(), t.double_data.data(), bytes);
  if (!floats && !doubles) CLEAVE_CHECK(fill_ints(to, t.element, t.int_data));
  return to;
}

Array as_array(const HostTensor& t) {
  Array a(t.dtype(), t.shape());
  for (int64_t k = 0; k < a.numel(); ++k) {
    if (a.floating()) {
      a.f[static_cast<size_t>(k)] = t.number(k);
    } else if (t.dtype() == DType::i64) {
      a.i[static_cast<size_t>(k)] = t.data<int64_t>()[k];
    } else {
      a.i[static_cast<size_t>(k)] = static_cast<int64_t>(t.number(k));
    }
  }
  return a;
}

HostTensor as_host_tensor(const Array& a) {
  HostTensor t(a.dtype, a.shape);
  for (int64_t k = 0; k < a.numel(); ++k) {
    if (a.dtype == DType::i64)
      t.data<int64_t>()[k] = a.i[static_cast<size_t>(k)];
    else
      t.set_number(k, a.number(k));
  }
  return t;
}

}  // namespace cleave::onnx
