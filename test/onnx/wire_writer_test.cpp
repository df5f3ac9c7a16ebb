#include "onnx/wire_writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "onnx/wire.h"

namespace cleave::onnx {
namespace {

std::vector<std::byte> bytes_of(const WireWriter& w) {
  std::vector<std::byte> out;
  for (const auto piece : w.pieces()) out.insert(out.end(), piece.begin(), piece.end());
  EXPECT_EQ(out.size(), w.size());
  return out;
}

Field only_field(const std::vector<std::byte>& bytes) {
  WireReader reader({bytes, 0, 0});
  Result<Field> f = reader.next();
  EXPECT_TRUE(f.ok());
  EXPECT_TRUE(reader.done());
  return *f;
}

TEST(WireWriter, NumbersReadBack) {
  for (const int64_t v :
       {int64_t{0}, int64_t{1}, int64_t{127}, int64_t{128}, int64_t{-1},
        std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    WireWriter w;
    w.number(20, v);
    const auto bytes = bytes_of(w);
    EXPECT_EQ(*as_int(only_field(bytes)), v);
    EXPECT_EQ(only_field(bytes).number, 20u);
  }
}

TEST(WireWriter, BytesAreThoseOfTheEncoding) {
  WireWriter w;
  w.number(1, 150).text(2, "ab").real(3, 1.0f);
  const std::vector<std::byte> bytes = bytes_of(w);
  const unsigned char want[] = {8, 0x96, 1, 18, 2, 'a', 'b', 29, 0, 0, 0x80, 0x3f};
  ASSERT_EQ(bytes.size(), sizeof want);
  for (size_t k = 0; k < sizeof want; ++k) EXPECT_EQ(std::to_integer<int>(bytes[k]), want[k]);
}

TEST(WireWriter, ListsReadBack) {
  WireWriter ints, floats;
  ints.numbers(8, std::vector<int64_t>{3, -1, 300});
  floats.reals(7, std::vector<float>{0.5f, -2});
  std::vector<int64_t> i;
  std::vector<float> f;
  const auto int_bytes = bytes_of(ints), float_bytes = bytes_of(floats);
  ASSERT_TRUE(append_ints(only_field(int_bytes), i).ok());
  ASSERT_TRUE(append_floats(only_field(float_bytes), f).ok());
  EXPECT_EQ(i, (std::vector<int64_t>{3, -1, 300}));
  EXPECT_EQ(f, (std::vector<float>{0.5f, -2}));
}

TEST(WireWriter, MessagesHoldBorrowedBytes) {
  const std::vector<std::byte> data(300, std::byte{7});
  WireWriter inner, outer;
  inner.text(1, "w").bytes(9, data).number(2, 1);
  outer.message(5, std::move(inner)).number(1, 4);
  EXPECT_EQ(outer.pieces().size(), 3u);
  EXPECT_EQ(outer.pieces()[1].data(), data.data());
  const auto bytes = bytes_of(outer);
  WireReader reader({bytes, 0, 0});
  const Result<Field> f = reader.next();
  ASSERT_TRUE(f.ok());
  WireReader in(*Message::of(*f, 0));
  EXPECT_EQ(*as_text(*in.next()), "w");
  EXPECT_EQ(in.next()->bytes.size(), 300u);
  EXPECT_EQ(*as_int(*in.next()), 1);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(*as_int(*reader.next()), 4);
}

TEST(WireWriter, EmptyBytesAreAField) {
  WireWriter w;
  w.bytes(9, {});
  const auto bytes = bytes_of(w);
  EXPECT_TRUE(only_field(bytes).bytes.empty());
  EXPECT_EQ(bytes.size(), 2u);
}

}  // namespace
}  // namespace cleave::onnx
