#include "onnx/wire_writer.h"

#include <bit>
#include <iterator>
#include <utility>

#include "onnx/wire.h"

namespace cleave::onnx {
namespace {

constexpr uint32_t number_of(WireType t) { return static_cast<uint32_t>(t); }

std::string varint_bytes(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
  return out;
}

std::string float_bytes(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  std::string out;
  for (int k = 0; k < 4; ++k) out += static_cast<char>(bits >> (8 * k));
  return out;
}

}  // namespace

void WireWriter::append(std::string_view text) {
  if (pieces_.empty() || !pieces_.back().borrowed.empty()) pieces_.emplace_back();
  pieces_.back().own += text;
  size_ += text.size();
}

void WireWriter::varint(uint64_t v) { append(varint_bytes(v)); }

WireWriter& WireWriter::number(uint32_t field, int64_t value) {
  tag(field, number_of(WireType::varint));
  varint(static_cast<uint64_t>(value));
  return *this;
}

WireWriter& WireWriter::real(uint32_t field, float value) {
  tag(field, number_of(WireType::fixed32));
  append(float_bytes(value));
  return *this;
}

WireWriter& WireWriter::text(uint32_t field, std::string_view value) {
  tag(field, number_of(WireType::bytes));
  varint(value.size());
  append(value);
  return *this;
}

WireWriter& WireWriter::numbers(uint32_t field, std::span<const int64_t> values) {
  std::string packed;
  for (const int64_t v : values) packed += varint_bytes(static_cast<uint64_t>(v));
  return text(field, packed);
}

WireWriter& WireWriter::reals(uint32_t field, std::span<const float> values) {
  std::string packed;
  for (const float v : values) packed += float_bytes(v);
  return text(field, packed);
}

WireWriter& WireWriter::bytes(uint32_t field, std::span<const std::byte> value) {
  tag(field, number_of(WireType::bytes));
  varint(value.size());
  if (value.empty()) return *this;
  pieces_.push_back({{}, value});
  size_ += value.size();
  return *this;
}

WireWriter& WireWriter::message(uint32_t field, WireWriter value) {
  tag(field, number_of(WireType::bytes));
  varint(value.size());
  for (Piece& piece : value.pieces_) {
    if (piece.borrowed.empty()) {
      append(piece.own);
    } else {
      size_ += piece.borrowed.size();
      pieces_.push_back(std::move(piece));
    }
  }
  return *this;
}

std::vector<std::span<const std::byte>> WireWriter::pieces() const {
  std::vector<std::span<const std::byte>> out;
  for (const Piece& piece : pieces_)
    out.push_back(piece.borrowed.empty() ? std::as_bytes(std::span(piece.own)) : piece.borrowed);
  return out;
}

}  // namespace cleave::onnx
