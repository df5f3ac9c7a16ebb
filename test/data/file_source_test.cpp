// Examples from files: .npy, tables of text, tokens, .safetensors; files that are wrong.
// tests: npy_source.cpp csv_source.cpp token_source.cpp input_file.cpp
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/result.h"
#include "cleave/data.h"
#include "cleave/weights.h"

namespace cleave::data {
namespace {

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::bug);
    return e.what();
  }
  return "no error";
}

class Files : public testing::Test {
 protected:
  Files()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("cleave_data_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }

 private:
  std::filesystem::path folder_;
};

HostTensors example(const SourcePtr& source, int64_t i) {
  HostTensors out;
  std::vector<void*> to;
  for (const TensorType& t : source->types()) out.emplace_back(t.dtype, t.shape);
  for (HostTensor& t : out) to.push_back(t.data());
  source->read(i, to);
  return out;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string npy_bytes(const std::string& header, const std::string& data, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version, out += '\0';
  out += static_cast<char>(header.size() & 255), out += static_cast<char>(header.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  return out + header + data;
}
std::string head(const std::string& descr, const std::string& shape,
                 const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST_F(Files, npy_rows) {
  const std::string x =
      file("x.npy", npy_bytes(head("<f4", "(3, 2)"), bytes_of<float>({1, 2, 3, 4, 5, 6})));
  const std::string y =
      file("y.npy", npy_bytes(head("<i8", "(3,)"), bytes_of<int64_t>({7, 8, 9}), 2));
  const std::string z =
      file("z.npy", npy_bytes(head("|b1", "(3, 1)"), std::string("\0\1\5", 3), 3));
  const SourcePtr source = npy({x, y, z});
  EXPECT_EQ(source->size(), 3);
  const HostTensors e = example(source, 2);
  EXPECT_EQ(e[0].to_vector<double>(), (std::vector<double>{5, 6}));
  EXPECT_EQ(e[1].item(), 9);
  EXPECT_EQ(e[2].to_vector<double>(), (std::vector<double>{1}));
  EXPECT_EQ(e[2].type_text(), "bool[1]");
}

TEST_F(Files, npy_files_that_are_wrong) {
  const auto refused = [&](const std::string& bytes) {
    const std::string path = file("x.npy", bytes);
    std::string text = message([&] { npy({path}); });
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  };
  const std::string data = bytes_of<float>({1, 2});
  EXPECT_EQ(refused(""), "format: this is no .npy file of version 1 to 3");
  EXPECT_EQ(refused("not a file of numpy"), "format: this is no .npy file of version 1 to 3");
  EXPECT_EQ(refused(npy_bytes("{}", data)),
            "format: its header lacks descr, fortran_order or shape: {}");
  EXPECT_EQ(refused(npy_bytes(head("<f4", "(2, 1)", "True"), data)),
            "fortran_order: it is column-major; save numpy.ascontiguousarray(x)");
  EXPECT_EQ(refused(npy_bytes(head(">f4", "(2,)"), data)),
            "descr: '>f4', expected one of <f8 <f4 <f2 <i8 <i4 <i2 |i1 |u1 |b1");
  EXPECT_EQ(refused(npy_bytes(head("<f4", "(3,)"), data)),
            "shape: it says 12 bytes of data, the file has 8");
  EXPECT_EQ(refused(npy_bytes(head("<f4", "()"), data)), "shape: it has no rows: ()");
  EXPECT_EQ(refused(npy_bytes(head("<f4", "(1152921504606846976, 1152921504606846976)"), data)),
            "shape: it is beyond 2^60 bytes");
  EXPECT_EQ(refused(npy_bytes(head("<f4", "(0, 1152921504606846976, 1152921504606846976)"), "")),
            "shape: it is beyond 2^60 bytes");
  EXPECT_EQ(refused(npy_bytes("{\n\x01" + std::string(5000, 'x') + "}", data)),
            "format: its header lacks descr, fortran_order or shape: {\\x0a\\x01" +
                std::string(97, 'x') + "...");
  // Any bytes at all: an error, never a crash.
  std::mt19937 random(1);
  const std::string good = npy_bytes(head("<f4", "(2,)"), data);
  for (int i = 0; i < 500; ++i) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    for (int k = 0; k < 3 && !bytes.empty(); ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const std::string path = file("noise.npy", bytes);
    message([&] { example(npy({path}), 0); });
  }
}

TEST_F(Files, columns_of_a_table) {
  const std::string path = file("t.csv",
                                "\xef\xbb\xbf"
                                "length, \"width\" ,class\r\n"
                                "1.5,2,0\r\n"
                                "\r\n"
                                " -3e2 , \"+4\",1\r\n");
  const SourcePtr source = csv(path, {{{"width", "length"}}, {{"class"}, DType::i64}});
  EXPECT_EQ(source->size(), 2);
  const HostTensors e = example(source, 1);
  EXPECT_EQ(e[0].to_vector<double>(), (std::vector<double>{4, -300}));
  EXPECT_EQ(e[1].to_vector<double>(), (std::vector<double>{1}));
}

TEST_F(Files, tables_that_are_wrong) {
  const auto refused = [&](const std::string& text, std::vector<Columns> columns = {{{"a"}}}) {
    const std::string path = file("t.csv", text);
    const std::string error = message([&] { csv(path, columns); });
    EXPECT_TRUE(error.starts_with(path + ": ")) << error;
    return error.substr(std::min(error.size(), path.size() + 2));
  };
  EXPECT_EQ(refused("a,b\n1,2\n1\n"), "line 3: 1 fields, expected 2");
  EXPECT_EQ(message([&] { csv(file("t.csv", "a,b\n1,x\n"), {{{"a"}}}); }), "no error");
  EXPECT_EQ(refused("a,b\nx,1\n"), "line 2: column a: 'x' is no number");
  EXPECT_EQ(refused("a,b\n,1\n"), "line 2: column a: '' is no number");
  EXPECT_EQ(refused("b,c\n1,1\n"), "there is no column a; columns are b, c");
  EXPECT_EQ(refused("a\n1.5\n", {{{"a"}, DType::i32}}),
            "line 2: column a: 1.5 is no integer, expected i32");
  EXPECT_EQ(refused("a\n\"1\n"), "line 2: a quote isn't closed");
  EXPECT_EQ(refused("a\n\x1b[2J" + std::string(5000, '1') + "\n"),
            "line 2: column a: '\\x1b[2J" + std::string(96, '1') + "...' is no number");
}

TEST_F(Files, windows_of_tokens) {
  const std::string path = file("t.bin", bytes_of<uint16_t>({10, 11, 12, 13, 14, 65535}));
  const SourcePtr source = tokens(path, {.is_u16 = true, .context = 2});
  EXPECT_EQ(source->size(), 2);
  const HostTensors e = example(source, 1);
  EXPECT_EQ(e[0].to_vector<int64_t>(), (std::vector<int64_t>{12, 13}));
  EXPECT_EQ(e[1].to_vector<int64_t>(), (std::vector<int64_t>{13, 14}));
  const SourcePtr dense = tokens(path, {.is_u16 = true, .context = 2, .stride = 1});
  EXPECT_EQ(dense->size(), 4);
  EXPECT_EQ(example(dense, 3)[1].to_vector<int64_t>(), (std::vector<int64_t>{14, 65535}));
  EXPECT_EQ(message([&] { tokens(path, {.context = 9}); }),
            path + ": it has 12 bytes; expected a multiple of 4, and more than 9 tokens");
  EXPECT_EQ(message([&] { tokens(path, {.stored = DType::f32}); }),
            "data::tokens: stored is f32, expected an integer dtype");
  EXPECT_NE(message([&] { tokens("/", {}); }).find("expected a regular file"), std::string::npos);
  std::filesystem::resize_file(path, 6);  // while it is used
  EXPECT_EQ(message([&] { example(source, 1); }), path + ": it ends at byte 6, expected 10");
}

TEST_F(Files, tensors_of_a_safetensors_file) {
  const std::string path = file("t.safetensors", "");
  save_tensors(path, {{"x", HostTensor::from<float>({1, 2, 3, 4}, {2, 2})},
                      {"y", HostTensor::from<int64_t>({5, 6})}});
  const SourcePtr source = safetensors(path, {"y", "x"});
  EXPECT_EQ(example(source, 1)[0].item(), 6);
  EXPECT_EQ(example(source, 0)[1].to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(message([&] { safetensors(path, {"z"}); }), path + ": there is no tensor z");
}

}  // namespace
}  // namespace cleave::data
