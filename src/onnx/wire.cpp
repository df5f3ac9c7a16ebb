#include "onnx/wire.h"

#include <bit>

namespace cleave::onnx {
namespace {

Failure wrong_type(const Field& field, const char* expected) {
  return user_error("byte {}: field {} has wire type {}, expected {}", field.at, field.number,
                    static_cast<int>(field.type), expected);
}

}  // namespace

Result<Message> Message::of(const Field& field, int depth) {
  if (field.type != WireType::bytes) return wrong_type(field, "a message");
  if (depth >= deepest)
    return user_error("byte {}: messages are nested more than {} deep", field.at, deepest);
  return Message{field.bytes, field.begin, depth + 1};
}

Result<uint64_t> WireReader::varint() {
  const size_t start = place();
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (done()) return user_error("byte {}: the file ends within a number", start);
    const uint64_t byte = std::to_integer<uint64_t>(message_.bytes[at_++]);
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return user_error("byte {}: a number takes more than 64 bits", start);
}

Result<uint64_t> WireReader::fixed(size_t count) {
  if (message_.bytes.size() - at_ < count)
    return user_error("byte {}: {} bytes are left, expected {}", place(),
                      message_.bytes.size() - at_, count);
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= std::to_integer<uint64_t>(message_.bytes[at_++]) << (8 * i);
  return value;
}

Result<Field> WireReader::next() {
  Field field;
  field.at = place();
  CLEAVE_TRY(const uint64_t tag, varint());
  if (tag >> 3 == 0 || tag >> 3 >= uint64_t{1} << 29)
    return user_error("byte {}: a field has number {}, expected 1 to 2^29 - 1", field.at, tag >> 3);
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  switch (tag & 7) {
    case 0: {
      CLEAVE_TRY(field.value, varint());
    } break;
    case 1: {
      CLEAVE_TRY(field.value, fixed(8));
    } break;
    case 5: {
      CLEAVE_TRY(field.value, fixed(4));
    } break;
    case 2: {
      CLEAVE_TRY(const uint64_t length, varint());
      const size_t left = message_.bytes.size() - at_;
      if (length > left)
        return user_error("byte {}: field {} has {} bytes, but {} are left", field.at, field.number,
                          length, left);
      field.begin = place();
      field.bytes = message_.bytes.subspan(at_, length);
      at_ += length;
    } break;
    default:
      return user_error("byte {}: field {} has wire type {}, expected 0, 1, 2 or 5", field.at,
                        field.number, tag & 7);
  }
  return field;
}

Result<int64_t> as_int(const Field& field) {
  if (field.type != WireType::varint) return wrong_type(field, "a number");
  return static_cast<int64_t>(field.value);
}

Result<float> as_float(const Field& field) {
  if (field.type != WireType::fixed32) return wrong_type(field, "a float");
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

Result<std::string> as_text(const Field& field) {
  if (field.type != WireType::bytes) return wrong_type(field, "text");
  return std::string(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
}

namespace {

// The packed numbers of `bytes` of a fixed width.
template <class T, class Bits>
Status append_fixed(const Field& field, WireType single, std::vector<T>& into) {
  if (field.type == single) {
    into.push_back(std::bit_cast<T>(static_cast<Bits>(field.value)));
    return {};
  }
  if (field.type != WireType::bytes) return wrong_type(field, "packed numbers");
  if (field.bytes.size() % sizeof(T) != 0)
    return user_error("byte {}: field {} has {} bytes, expected a multiple of {}", field.at,
                      field.number, field.bytes.size(), sizeof(T));
  into.reserve(into.size() + field.bytes.size() / sizeof(T));
  for (size_t i = 0; i < field.bytes.size(); i += sizeof(T)) {
    Bits bits = 0;
    for (size_t b = 0; b < sizeof(T); ++b)
      bits |= std::to_integer<Bits>(field.bytes[i + b]) << (8 * b);
    into.push_back(std::bit_cast<T>(bits));
  }
  return {};
}

}  // namespace

Status append_floats(const Field& field, std::vector<float>& into) {
  return append_fixed<float, uint32_t>(field, WireType::fixed32, into);
}

Status append_doubles(const Field& field, std::vector<double>& into) {
  return append_fixed<double, uint64_t>(field, WireType::fixed64, into);
}

Status append_ints(const Field& field, std::vector<int64_t>& into) {
  if (field.type == WireType::varint) {
    into.push_back(static_cast<int64_t>(field.value));
    return {};
  }
  if (field.type != WireType::bytes) return wrong_type(field, "packed numbers");
  const std::span<const std::byte> bytes = field.bytes;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t value = 0;
    int shift = 0;
    for (;; shift += 7) {
      if (at == bytes.size() || shift > 63)
        return user_error("byte {}: a packed number of field {} doesn't end", field.begin + at,
                          field.number);
      const uint64_t byte = std::to_integer<uint64_t>(bytes[at++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    into.push_back(static_cast<int64_t>(value));
  }
  return {};
}

}  // namespace cleave::onnx
