// Files of weights, right and hostile.
#include "standalone/weight_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/private_folder.h"

namespace cleave::standalone {
namespace {

class WeightFileTest : public testing::Test {
 protected:
  // Of a header, and data of so many bytes, each its number.
  Result<WeightFile> open(const std::string& header, size_t data, int64_t length = -1) {
    std::string bytes(8, '\0');
    const uint64_t n = length < 0 ? header.size() : static_cast<uint64_t>(length);
    std::memcpy(bytes.data(), &n, 8);
    bytes += header;
    for (size_t k = 0; k < data; ++k) bytes += static_cast<char>(k);
    std::ofstream(folder_ + "/w", std::ios::binary) << bytes;
    return WeightFile::open(folder_ + "/w");
  }
  // What is wrong, behind the path.
  std::string refusal(const std::string& header, size_t data, int64_t length = -1) {
    const Result<WeightFile> file = open(header, data, length);
    if (file.ok()) return "nothing";
    const std::string path = folder_ + "/w: ";
    EXPECT_TRUE(file.failure().message.starts_with(path)) << file.failure().message;
    return file.failure().message.substr(path.size());
  }

  const std::unique_ptr<runtime::PrivateFolder> made_ =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
  const std::string folder_ = made_->path();
};

TEST_F(WeightFileTest, HeadersBeginWithABrace) {
  EXPECT_EQ(refusal("{} ", 0), "nothing");
  EXPECT_EQ(refusal(" {}", 0), "its header isn't that of a .safetensors file");
  EXPECT_EQ(refusal("", 0), "its header isn't that of a .safetensors file");
}

TEST_F(WeightFileTest, HeadersAreUtf8) {
  const auto named = [&](const std::string& name) {
    return refusal("{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
  };
  for (const char* name :
       {"\xc3\xa9", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(named(name), "nothing") << name;
  for (const char* name :
       {"\xc3", "\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"})
    EXPECT_EQ(named(name), "its header isn't UTF-8") << name;
}

TEST_F(WeightFileTest, tensors_by_name) {
  const auto file = open(R"({"__metadata__":{"a":"b\"\n"}, )"
                         R"("x\u00e4\/":{"dtype":"I16","shape":[2,1],"data_offsets":[4,8]},)"
                         R"("y":{"shape":[],"data_offsets":[0,4],"dtype":"F32"},)"
                         R"("none":{"dtype":"U8","shape":[0,3],"data_offsets":[8,8]}} )",
                         8);
  ASSERT_TRUE(file.ok()) << file.failure().message;
  ASSERT_EQ(file->tensors().size(), 3u);
  const FileTensor& x = file->tensors().at("x\xc3\xa4/");
  EXPECT_EQ(x.dtype, DType::i16);
  EXPECT_EQ(x.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(x.data[0], std::byte{4});
  EXPECT_TRUE(file->tensors().at("y").shape.empty());
}

TEST_F(WeightFileTest, what_is_no_such_file) {
  const std::string no_header = "its header isn't that of a .safetensors file";
  const auto tensor = [](const std::string& fields) { return "{\"x\":{" + fields + "}}"; };
  EXPECT_EQ(refusal("{}", 0, 3), "no .safetensors file: a header of 3 bytes in a file of 10");
  EXPECT_EQ(refusal("{}", 0, int64_t{1} << 60),
            "no .safetensors file: a header of 1152921504606846976 bytes in a file of 10");
  for (const char* header :
       {"", "{", "[]", "{\"x\"}", "{\"x\":1}", "{} {}", "{\"x\":{}}", "{\"\x01\":{}}",
        "{\"__metadata__\":{\"a\":1}}", "{\"__metadata__\":{},\"__metadata__\":{}}",
        "{\"\\ud800\":{}}", "{\"x\":{\"dtype\":\"U8\"", "{\"x\\"})
    EXPECT_EQ(refusal(header, 0), no_header) << header;
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1)"), 1),
            no_header);
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), 1), no_header);
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[01],"data_offsets":[0,1])"), 1), no_header);
  EXPECT_EQ(
      refusal(tensor(R"("dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1])"), 1),
      no_header);
  EXPECT_EQ(refusal(tensor(R"("dtype":"F8","shape":[1],"data_offsets":[0,1])"), 1), "x: dtype F8");
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,1])"), 1),
            "x: data_offsets are [0, 1) of 1 bytes, and it has 2");
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), 1),
            "x: data_offsets are [1, 0) of 1 bytes, and it has 1");
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), 1),
            "x: data_offsets are [0, 4) of 1 bytes, and it has 4");
  EXPECT_EQ(
      refusal(tensor(R"("dtype":"F64","shape":[4611686018427387904,8],"data_offsets":[0,0])"), 0),
      "x: its shape is too large");
  EXPECT_EQ(refusal(tensor(R"("dtype":"U8","shape":[1],"data_offsets":[0,1])"), 2),
            "its tensors overlap, or leave gaps in its data");
  const std::string one = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(refusal("{\"x\":" + one + ",\"x\":" + one + "}", 1),
            "two tensors have the name `x`, or one has none");
  EXPECT_EQ(refusal("{\"x\":" + one + ",\"y\":" + one + "}", 1),
            "its tensors overlap, or leave gaps in its data");
  const auto missing = WeightFile::open(folder_);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().message, folder_ + ": it is no regular file");
}

}  // namespace
}  // namespace cleave::standalone
