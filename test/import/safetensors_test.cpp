// The rules of src/import/safetensors.h, each with a file that breaks it and the exact message.
// tests: safetensors_write.cpp
#include "import/safetensors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace cleave {
namespace {

namespace fs = std::filesystem;

// A file with this header and data.
std::vector<std::byte> image(const std::string& header, const std::string& data) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(header.size() >> (8 * i)));
  for (const std::string* part : {&header, &data})
    for (const char c : *part) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

Failure refusal(std::vector<std::byte> bytes) {
  const Result<SafetensorsFile> file = SafetensorsFile::from_bytes(std::move(bytes), "f");
  return file.ok() ? Failure{ErrorKind::bug, "accepted"} : file.failure();
}

std::string refused(const std::string& header, const std::string& data) {
  return refusal(image(header, data)).message;
}

// A header of one tensor "w" with these fields.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"w":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

std::string eight = "01234567";

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / "cleave_safetensors_XXXXXX") {
    std::string name = path_.string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    fs::permissions(path_, fs::perms::owner_all);
    fs::remove_all(path_);
  }
  std::string operator/(const char* name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  // Names of all files inside, in order.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path_)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  fs::path path_;
};

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

TensorEntry entry_of(const std::string& name, DType dtype, std::vector<int64_t> shape,
                     const std::string& data) {
  return {name, dtype, std::move(shape), std::as_bytes(std::span(data))};
}

TEST(SafetensorsRead, two_tensors_and_metadata) {
  auto file =
      SafetensorsFile::from_bytes(image(R"({"b":{"dtype":"I8","shape":[2],"data_offsets":[4,6]},)"
                                        R"("a":{"shape":[],"data_offsets":[0,4],"dtype":"F32"},)"
                                        R"("__metadata__":{"format":"pt","\u00e9":""}}  )",
                                        "abcdxy"));
  ASSERT_TRUE(file.ok()) << file.failure().message;
  ASSERT_EQ(file->entries().size(), 2U);
  EXPECT_EQ(file->entries()[0].name, "a");
  EXPECT_EQ(file->entries()[0].dtype, DType::f32);
  EXPECT_TRUE(file->entries()[0].shape.empty());
  EXPECT_EQ(std::memcmp(file->entries()[0].data.data(), "abcd", 4), 0);
  const TensorEntry* b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, std::vector<int64_t>{2});
  EXPECT_EQ(std::memcmp(b->data.data(), "xy", 2), 0);
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_EQ(file->find(""), nullptr);
  EXPECT_EQ(file->metadata(), (SafetensorsMetadata{{"format", "pt"}, {"\xc3\xa9", ""}}));
}

TEST(SafetensorsRead, entries_outlive_the_move_of_the_file) {
  auto first = SafetensorsFile::from_bytes(image(one(R"("U8")", "[8]", "[0,8]"), eight));
  ASSERT_TRUE(first.ok());
  const SafetensorsFile second = *std::move(first);
  EXPECT_EQ(std::memcmp(second.find("w")->data.data(), "01234567", 8), 0);
}

TEST(SafetensorsRead, nothing_at_all) {
  EXPECT_TRUE(SafetensorsFile::from_bytes(image("{}", "")).ok());
}

TEST(SafetensorsRead, empty_tensors_between_others) {
  auto file = SafetensorsFile::from_bytes(
      image(R"({"y":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
            R"("e":{"dtype":"F64","shape":[3,0,4611686018427387904],"data_offsets":[1,1]},)"
            R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
            "ab"));
  EXPECT_EQ(file.ok() ? "" : file.failure().message,
            "safetensors: tensor \"e\": shape: f64[3,0,4611686018427387904] takes more bytes than "
            "63 bits can count");
  file =
      SafetensorsFile::from_bytes(image(R"({"y":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                                        R"("e":{"dtype":"F64","shape":[3,0],"data_offsets":[1,1]},)"
                                        R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                        "ab"));
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_TRUE(file->find("e")->data.empty());
  EXPECT_EQ(file->entries()[2].name, "y");
}

TEST(SafetensorsRead, every_dtype) {
  for (const auto& [name, dtype, bytes] : {std::tuple{"F64", DType::f64, 8},
                                           {"F32", DType::f32, 4},
                                           {"BF16", DType::bf16, 2},
                                           {"F16", DType::f16, 2},
                                           {"I64", DType::i64, 8},
                                           {"I32", DType::i32, 4},
                                           {"I16", DType::i16, 2},
                                           {"I8", DType::i8, 1},
                                           {"U8", DType::u8, 1},
                                           {"BOOL", DType::boolean, 1},
                                           {"C64", DType::c64, 8}}) {
    auto file = SafetensorsFile::from_bytes(
        image(one(fmt::format("\"{}\"", name), "[1]", fmt::format("[0,{}]", bytes)),
              std::string(static_cast<size_t>(bytes), 'x')));
    ASSERT_TRUE(file.ok()) << file.failure().message;
    EXPECT_EQ(file->find("w")->dtype, dtype);
  }
}

TEST(SafetensorsRead, length) {
  EXPECT_EQ(refusal({}).message, "f: length: the file has 0 bytes, at least 8");
  EXPECT_EQ(refusal(std::vector<std::byte>(7)).message,
            "f: length: the file has 7 bytes, at least 8");
  EXPECT_EQ(refusal(std::vector<std::byte>(8)).message, "f: header: expected { first");
  auto bytes = image("{}", "");
  bytes[0] = std::byte{3};
  EXPECT_EQ(refusal(bytes).message, "f: length: a header of 3 bytes, but only 2 follow its length");
  bytes[4] = std::byte{1};
  EXPECT_EQ(refusal(bytes).message,
            "f: length: a header of 4294967299 bytes, the format allows 100000000");
  for (size_t i = 0; i < 8; ++i) bytes[i] = std::byte{0xff};
  EXPECT_EQ(refusal(bytes).message,
            "f: length: a header of 18446744073709551615 bytes, the format allows 100000000");
}

TEST(SafetensorsRead, header_is_json) {
  EXPECT_EQ(refused(" {}", ""), "f: header: expected { first");
  EXPECT_EQ(refused("[]", ""), "f: header: expected { first");
  for (const char* text : {"{", "{}}", "{} x", R"({"a":})", "{\"a\xff\":1}", R"({"a" 1})"})
    EXPECT_EQ(refused(text, "").substr(0, 21), "f: header: not JSON: ") << text;
}

TEST(SafetensorsRead, nesting_is_bounded) {
  EXPECT_EQ(refused(one(R"("F32")", "[[1]]", "[0,4]"), "abcd"),
            "f: header: nested more than 3 deep");
  EXPECT_EQ(refused(R"({"w":)" + std::string(100000, '[') + std::string(100000, ']') + "}", ""),
            "f: header: nested more than 3 deep");
}

TEST(SafetensorsRead, unique_keys) {
  const std::string w = R"("w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]})";
  const std::string same = R"("\u0077":{"dtype":"U8","shape":[0],"data_offsets":[8,8]})";
  EXPECT_EQ(refused("{" + w + "," + same + "}", eight), "f: unique: \"w\" is there twice");
  EXPECT_EQ(refused(R"({"__metadata__":{},"__metadata__":{}})", ""),
            "f: unique: \"__metadata__\" is there twice");
  EXPECT_EQ(refused(R"({"__metadata__":{"a":"1","a":"1"}})", ""),
            "f: unique: key \"a\" is there twice");
  EXPECT_EQ(refused(R"({"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"shape":[8]}})", eight),
            "f: tensor \"w\": unique: field \"shape\" is there twice");
}

TEST(SafetensorsRead, names) {
  EXPECT_EQ(refused(R"({"":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", eight),
            "f: name: a tensor's name is empty");
  EXPECT_EQ(refused(R"({"a\u001b\"b":1})", ""),
            "f: tensor \"a\\x1b\\x22b\": field: expected an object with dtype, shape and "
            "data_offsets");
  EXPECT_EQ(refused("{\"" + std::string(101, 'n') + "\":1}", "").substr(0, 115),
            "f: tensor \"" + std::string(100, 'n') + "...\"");
}

TEST(SafetensorsRead, fields) {
  EXPECT_EQ(refused(R"({"w":{"dtype":"U8","shape":[8]}})", eight),
            "f: tensor \"w\": field: expected dtype, shape and data_offsets, all three");
  EXPECT_EQ(refused(R"({"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"at":1}})", eight),
            "f: tensor \"w\": field: \"at\" is none, expected dtype, shape and data_offsets");
}

TEST(SafetensorsRead, dtypes) {
  EXPECT_EQ(refused(one("1", "[8]", "[0,8]"), eight),
            "f: tensor \"w\": dtype: expected a text such as \"F32\"");
  EXPECT_EQ(refused(one(R"("f32")", "[2]", "[0,8]"), eight),
            "f: tensor \"w\": dtype: \"f32\" is none, expected one of F64 F32 BF16 F16 I64 I32 I16 "
            "I8 U8 BOOL C64");
  const Failure foreign = refusal(image(one(R"("F8_E4M3")", "[8]", "[0,8]"), eight));
  EXPECT_EQ(foreign.kind, ErrorKind::unsupported);
  EXPECT_EQ(
      foreign.message,
      "f: tensor \"w\": dtype: cleave has no F8_E4M3, only F64 F32 BF16 F16 I64 I32 I16 I8 U8 "
      "BOOL C64; src/import/safetensors_dtype.h lists them");
}

TEST(SafetensorsRead, shapes) {
  EXPECT_EQ(refused(one(R"("U8")", "8", "[0,8]"), eight),
            "f: tensor \"w\": shape: expected a list of integers");
  for (const char* shape : {"[8,-1]", "[8,1.0]", "[8,1e0]", "[8,9223372036854775808]", "[8,\"1\"]",
                            "[8,null]", "[8,true]"})
    EXPECT_EQ(refused(one(R"("U8")", shape, "[0,8]"), eight),
              "f: tensor \"w\": shape: dim 1 is not an integer >= 0");
  EXPECT_EQ(refused(one(R"("U8")", "[8,18446744073709551616]", "[0,8]"), eight).substr(0, 11),
            "f: header: ");
  EXPECT_EQ(refused(one(R"("F32")", "[4294967296,4294967296]", "[0,8]"), eight),
            "f: tensor \"w\": shape: f32[4294967296,4294967296] takes more bytes than 63 bits can "
            "count");
  // 2^62 elements of 4 bytes are 2^64: 0 if the product wrapped.
  EXPECT_EQ(refused(one(R"("F32")", "[4611686018427387904]", "[0,0]"), ""),
            "f: tensor \"w\": shape: f32[4611686018427387904] takes more bytes than 63 bits can "
            "count");
}

TEST(SafetensorsRead, offsets) {
  const std::string w = "f: tensor \"w\": data_offsets: ";
  EXPECT_EQ(refused(one(R"("U8")", "[8]", "[0,8,8]"), eight), w + "expected a list [begin, end]");
  EXPECT_EQ(refused(one(R"("U8")", "[8]", "8"), eight), w + "expected a list [begin, end]");
  EXPECT_EQ(refused(one(R"("U8")", "[8]", "[-8,0]"), eight), w + "expected two integers >= 0");
  EXPECT_EQ(refused(one(R"("U8")", "[8]", "[0,8.5]"), eight), w + "expected two integers >= 0");
  EXPECT_EQ(refused(one(R"("U8")", "[8]", "[8,0]"), eight), w + "begin 8 is after end 0");
  EXPECT_EQ(refused(one(R"("U8")", "[9]", "[0,9]"), eight),
            w + "end 9 is outside the data of 8 bytes");
  EXPECT_EQ(refused(one(R"("F32")", "[3]", "[0,8]"), eight),
            w + "[0, 8) is 8 bytes, but f32[3] takes 12");
  EXPECT_EQ(refused(one(R"("F32")", "[]", "[0,8]"), eight),
            w + "[0, 8) is 8 bytes, but f32[] takes 4");
}

TEST(SafetensorsRead, cover) {
  const auto two = [](int a, int b, int c, int d) {
    return fmt::format(R"({{"x":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                       R"("y":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                       b - a, a, b, d - c, c, d);
  };
  EXPECT_TRUE(SafetensorsFile::from_bytes(image(two(0, 4, 4, 8), eight)).ok());
  EXPECT_TRUE(SafetensorsFile::from_bytes(image(two(4, 8, 0, 4), eight)).ok());
  EXPECT_EQ(refused(two(0, 4, 5, 8), eight),
            "f: tensor \"y\": cover: its data begin at 5, leaving a gap after the tensor before, "
            "which ends at 4");
  EXPECT_EQ(
      refused(two(0, 5, 4, 8), eight),
      "f: tensor \"y\": cover: its data begin at 4, overlapping the tensor before, which ends "
      "at 5");
  EXPECT_EQ(
      refused(two(0, 4, 0, 4), eight),
      "f: tensor \"y\": cover: its data begin at 0, overlapping the tensor before, which ends "
      "at 4");
  EXPECT_EQ(
      refused(two(0, 8, 3, 3), eight),
      "f: tensor \"y\": cover: its data begin at 3, overlapping the tensor before, which ends "
      "at 8");
  EXPECT_EQ(refused(two(0, 4, 4, 7), eight),
            "f: cover: the tensors end at 7, but the data have 8 bytes");
  EXPECT_EQ(refused("{}", eight), "f: cover: the tensors end at 0, but the data have 8 bytes");
}

TEST(SafetensorsRead, metadata_is_text) {
  EXPECT_EQ(refused(R"({"__metadata__":1})", ""), "f: metadata: expected an object of texts");
  EXPECT_EQ(refused(R"({"__metadata__":{"a":1}})", ""), "f: metadata: \"a\" is not a text");
}

TEST(SafetensorsOpen, what_is_no_file) {
  const Folder folder;
  const auto message = [](const std::string& path) {
    const auto file = SafetensorsFile::open(path);
    return file.ok() ? "accepted" : file.failure().message;
  };
  EXPECT_EQ(message(folder / "none"), folder / "none" + ": open: No such file or directory");
  EXPECT_EQ(message(folder.path()), folder.path() + ": open: not a file");
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message(pipe), pipe + ": open: not a file");
}

TEST(SafetensorsOpen, sparse_file_beyond_memory) {
  const Folder folder;
  const std::string path = folder / "huge.safetensors";
  const int64_t bytes = int64_t{1} << 42;
  put(path, image(one(R"("U8")", fmt::format("[{}]", bytes), fmt::format("[0,{}]", bytes)), ""));
  std::error_code error;
  fs::resize_file(path, fs::file_size(path) + static_cast<uint64_t>(bytes), error);
  if (error) GTEST_SKIP() << "no sparse files of 4 TiB here";
  const auto file = SafetensorsFile::open(path);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.failure().message.substr(0, path.size() + 56),
            path + ": read: its tensors take 4398046511104 bytes, this machi");
}

TEST(SafetensorsWrite, comes_back) {
  const Folder folder;
  const std::string path = folder / "m.safetensors";
  const std::string f = "abcdefgh", i = "xy", b = "q";
  const std::vector<TensorEntry> entries = {
      entry_of("z.bool", DType::boolean, {}, b), entry_of("h", DType::f16, {1}, i),
      entry_of("b", DType::f32, {2, 1}, f), entry_of("a \"\u00e9", DType::f32, {0, 7}, "")};
  const Status written = write_safetensors(path, entries, {{"step", "12"}, {"a\n", "\"\\"}});
  ASSERT_TRUE(written.ok()) << written.failure().message;
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.failure().message;
  std::vector<std::string> names;
  for (const TensorEntry& entry : file->entries()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a \"\u00e9", "b", "h", "z.bool"}));
  EXPECT_EQ(file->find("b")->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(file->find("b")->data.data(), "abcdefgh", 8), 0);
  EXPECT_EQ(file->find("h")->dtype, DType::f16);
  EXPECT_EQ(file->metadata(), (SafetensorsMetadata{{"step", "12"}, {"a\n", "\"\\"}}));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m.safetensors"});
}

TEST(SafetensorsWrite, exact_bytes) {
  const Folder folder;
  const std::string data = "abcd";
  ASSERT_TRUE(write_safetensors(folder / "m", std::vector{entry_of("w", DType::f32, {1}, data)}));
  EXPECT_EQ(text_of(folder / "m"), std::string("\x38\0\0\0\0\0\0\0", 8) +
                                       R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" +
                                       "  abcd");
}

TEST(SafetensorsWrite, entries_that_are_wrong) {
  const Folder folder;
  const std::string path = folder / "m", data = "abcd";
  const auto message = [&](const std::vector<TensorEntry>& entries, SafetensorsMetadata meta = {}) {
    const Status status = write_safetensors(path, entries, meta);
    return status.ok() ? "accepted" : status.failure().message.substr(path.size());
  };
  const TensorEntry w = entry_of("w", DType::f32, {1}, data);
  EXPECT_EQ(message({w, w}), ": unique: two tensors are named \"w\"");
  EXPECT_EQ(message({entry_of("", DType::f32, {1}, data)}), ": name: a tensor's name is empty");
  EXPECT_EQ(message({entry_of("__metadata__", DType::f32, {1}, data)}),
            ": name: a tensor may not be named __metadata__");
  EXPECT_EQ(message({entry_of("w", DType::f32, {2}, data)}),
            ": tensor \"w\": data: 4 bytes, but f32[2] takes 8");
  EXPECT_EQ(message({entry_of("w", DType::f32, {-1}, data)}),
            ": tensor \"w\": data: 4 bytes, but f32[-1] takes more than 63 bits can count");
  EXPECT_EQ(message({entry_of("\xff", DType::f32, {1}, data)}),
            ": name: a tensor's name is not UTF-8");
  EXPECT_EQ(message({w}, {{"k", "\xff"}}), ": metadata: a key or text is not UTF-8");
  EXPECT_TRUE(folder.names().empty());
}

// Each of these failures leaves the existing file unchanged, and no other file.
class SafetensorsKeeps : public testing::Test {
 protected:
  void SetUp() override { put(path, std::as_bytes(std::span(old))); }
  std::string failure(const std::string& to) {
    const Status status =
        write_safetensors(to, std::vector{entry_of("w", DType::u8, {4096}, data)});
    return status.ok() ? "written" : status.failure().message;
  }
  void nothing_changed() {
    EXPECT_EQ(text_of(path), old);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
  }

  Folder folder;
  std::string path = folder / "m", old = "the old contents", data = std::string(4096, 'x');
};

TEST_F(SafetensorsKeeps, over_the_size_limit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = failure(path);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(message, path +
                         ": write: 4168 bytes are more than the 1000 that this process may write "
                         "to a file (ulimit -f); nothing was changed");
  nothing_changed();
}

TEST_F(SafetensorsKeeps, full_device) {
  EXPECT_EQ(failure("/dev/full"), "/dev/full: write: No space left on device");
}

TEST_F(SafetensorsKeeps, missing_folder) {
  EXPECT_EQ(failure(folder / "no/m"),
            folder / "no/m" + ": create: No such file or directory; nothing was changed");
  nothing_changed();
}

TEST_F(SafetensorsKeeps, a_folder_in_its_place) {
  EXPECT_EQ(failure(folder.path()), folder.path() + ": open: Is a directory; nothing was changed");
  nothing_changed();
}

TEST_F(SafetensorsKeeps, unwritable_folder) {
  if (::geteuid() == 0) {
    // root may write anywhere but in /proc.
    EXPECT_EQ(failure("/proc/cleave.safetensors"),
              "/proc/cleave.safetensors: create: No such file or directory; nothing was changed");
    return;
  }
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(failure(path), path + ": create: Permission denied; nothing was changed");
  nothing_changed();
}

TEST_F(SafetensorsKeeps, a_link_stays_a_link) {
  const std::string link = folder / "link";
  fs::create_symlink("m", link);
  EXPECT_EQ(failure(link), "written");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(SafetensorsFile::open(path).ok());
}

TEST_F(SafetensorsKeeps, a_dead_writers_file_blocks_nobody) {
  put(fmt::format("{}.{}.0.tmp", path, ::getpid()), std::as_bytes(std::span(old)));
  EXPECT_EQ(failure(path), "written");
  EXPECT_TRUE(SafetensorsFile::open(path).ok());
}

// Any tensors come back as they were.
RC_GTEST_PROP(SafetensorsProperty, write_then_read, ()) {
  const Folder folder;
  const auto names = *rc::gen::container<std::set<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127))));
  std::vector<std::string> data;
  std::vector<TensorEntry> entries;
  data.reserve(names.size());
  for (const std::string& name : names) {
    TensorEntry entry;
    entry.name = name;
    entry.dtype = static_cast<DType>(*rc::gen::inRange(0, dtype_count));
    entry.shape = *rc::gen::container<std::vector<int64_t>>(3, rc::gen::inRange<int64_t>(0, 4));
    const auto bytes = entry.shape[0] * entry.shape[1] * entry.shape[2] * size_of(entry.dtype);
    data.push_back(
        *rc::gen::container<std::string>(static_cast<size_t>(bytes), rc::gen::arbitrary<char>()));
    entry.data = std::as_bytes(std::span(data.back()));
    entries.push_back(entry);
  }
  RC_ASSERT(write_safetensors(folder / "m", entries).ok());
  const auto file = SafetensorsFile::open(folder / "m");
  RC_ASSERT(file.ok());
  RC_ASSERT(file->entries().size() == entries.size());
  for (const TensorEntry& want : entries) {
    const TensorEntry* got = file->find(want.name);
    RC_ASSERT(got != nullptr);
    RC_ASSERT(got->dtype == want.dtype && got->shape == want.shape);
    RC_ASSERT(std::ranges::equal(got->data, want.data));
  }
}

// A file that is truncated anywhere, or with any byte changed, is read or an error.
TEST(SafetensorsProperty, every_cut_and_every_byte) {
  const auto whole = image(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                           R"("__metadata__":{"k":"v"}})",
                           eight);
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(
        SafetensorsFile::from_bytes({whole.begin(), whole.begin() + static_cast<long>(n)}).ok());
  const size_t header = whole.size() - eight.size();
  int accepted = 0;
  for (size_t at = 0; at < header; ++at) {
    for (const char value : {'\0', '"', '1', '9', '{', '}', '-', ',', ' ', '\xff'}) {
      auto bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      const auto file = SafetensorsFile::from_bytes(std::move(bytes));
      if (!file.ok()) continue;
      ++accepted;  // another name, or the same byte
      ASSERT_EQ(file->entries().size(), 1U);
      ASSERT_EQ(file->entries()[0].data.size(), 8U);
    }
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace cleave
