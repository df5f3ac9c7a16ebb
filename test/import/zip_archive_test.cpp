// The rules of src/import/zip_archive.h, each with an archive that breaks it.
#include "import/zip_archive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "test/import/archives.h"

namespace cleave {
namespace {

std::string unzipped(std::vector<std::byte> bytes) {
  const Result<ZipArchive> zip = ZipArchive::from_bytes(std::move(bytes), "z");
  if (!zip.ok()) return zip.failure().message;
  for (const ZipArchive::Entry& e : zip->entries())
    if (const auto read = zip->read(e); !read.ok()) return read.failure().message;
  return "accepted";
}

// Writes a number of `size` bytes after each `signature`, `offset` bytes on.
void patch(std::vector<std::byte>& bytes, std::string_view signature, size_t offset, uint64_t value,
           size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = text.find(signature); at != text.npos; at = text.find(signature, at + 1))
    for (size_t k = 0; k < size; ++k)
      bytes[at + offset + k] = static_cast<std::byte>(value >> (8 * k));
}

constexpr std::string_view local = "PK\3\4", central = "PK\1\2";

TEST(ZipArchive, ReadsStoredAndDeflatedEntries) {
  const std::string zeros(10'000, '\0');
  const auto zip = ZipArchive::from_bytes(zipped({{"a/b", "text"}, {"c", zeros, true}}), "z");
  ASSERT_TRUE(zip.ok()) << zip.failure().message;
  ASSERT_EQ(zip->entries().size(), 2u);
  ASSERT_NE(zip->find("c"), nullptr);
  EXPECT_EQ(zip->find("d"), nullptr);
  const auto text = zip->read(*zip->find("a/b")), many = zip->read(*zip->find("c"));
  ASSERT_TRUE(text.ok() && many.ok());
  EXPECT_EQ(std::memcmp(text->data(), "text", 4), 0);
  EXPECT_EQ(many->size(), zeros.size());
  EXPECT_TRUE(std::ranges::all_of(*many, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(ZipArchive, RefusesWhatIsNoArchive) {
  EXPECT_EQ(unzipped({}), "z: format: the file is empty");
  EXPECT_EQ(unzipped(std::vector<std::byte>(1000)), "z: format: Not a zip archive");
  const Result<ZipArchive> folder = ZipArchive::open("/tmp");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.failure().message, "/tmp: open: not a file");
  const Result<ZipArchive> none = ZipArchive::open("/nowhere/m.pt2");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.failure().message, "/nowhere/m.pt2: open: No such file or directory");
}

TEST(ZipArchive, RefusesATruncatedFile) {
  const std::vector<std::byte> whole = zipped({{"a", "text"}, {"b", std::string(500, 'x'), true}});
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<long>(size));
    EXPECT_NE(unzipped(std::move(bytes)), "accepted") << size;
  }
}

TEST(ZipArchive, RefusesAWrongCrc) {
  for (const bool deflated : {false, true}) {
    auto bytes = zipped({{"a", "some text", deflated}});
    patch(bytes, local, 14, 0x12345678, 4);
    patch(bytes, central, 16, 0x12345678, 4);
    EXPECT_EQ(unzipped(bytes), "z: entry \"a\": data: CRC error");
  }
  auto bytes = zipped({{"a", "some text"}});
  patch(bytes, "some text", 0, 'S', 1);
  EXPECT_EQ(unzipped(bytes), "z: entry \"a\": data: CRC error");
}

TEST(ZipArchive, RefusesSizesThatAreNotTrue) {
  // Deflated: 1 MB in 1 KB is what deflate can do; 4 GB are not.
  auto bytes = zipped({{"a", std::string(1'000'000, 'x'), true}});
  patch(bytes, local, 22, 0xfffffff0, 4);
  patch(bytes, central, 24, 0xfffffff0, 4);
  EXPECT_NE(unzipped(bytes).find("size: 4294967280 bytes can't come of"), std::string::npos)
      << unzipped(bytes);
  // Stored.
  bytes = zipped({{"a", "some text"}});
  patch(bytes, local, 22, 10, 4);
  patch(bytes, central, 24, 10, 4);
  EXPECT_EQ(unzipped(bytes), "z: entry \"a\": size: 10 bytes can't come of 9 in the file");
  // It unpacks to more, and to less, than it says.
  for (const uint64_t size : {99, 101}) {
    bytes = zipped({{"a", std::string(100, 'x') + "and more", true}});
    patch(bytes, local, 22, size, 4);
    patch(bytes, central, 24, size, 4);
    EXPECT_NE(unzipped(bytes), "accepted") << size;
  }
}

TEST(ZipArchive, RefusesABomb) {
  const std::string zeros(4'000'000, '\0');
  const auto bytes = zipped({{"a", zeros, true}, {"b", zeros, true}});
  EXPECT_EQ(unzipped(bytes), fmt::format("z: size: its entries unpack to more than 64 times its {} "
                                         "bytes",
                                         bytes.size()));
}

TEST(ZipArchive, RefusesNamesThatLeadOut) {
  EXPECT_EQ(unzipped(zipped({{"m/../../x", "t"}})), "z: name: \"m/../../x\" leads out by ..");
  EXPECT_EQ(unzipped(zipped({{"..", "t"}})), "z: name: \"..\" leads out by ..");
  EXPECT_EQ(unzipped(zipped({{"/etc/x", "t"}})),
            "z: name: \"/etc/x\" is absolute or has a backslash");
  EXPECT_EQ(unzipped(zipped({{"a\\b", "t"}})),
            "z: name: \"a\\x5cb\" is absolute or has a backslash");
  EXPECT_EQ(unzipped(zipped({{"a..b/..c", "t"}})), "accepted");
}

TEST(ZipArchive, RefusesANameThatIsThereTwice) {
  auto bytes = zipped({{"aa", "1"}, {"ab", "2"}});
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = text.find("ab"); at != text.npos; at = text.find("ab", at + 1))
    bytes[at + 1] = std::byte{'a'};
  EXPECT_EQ(unzipped(bytes), "z: format: File already exists");
}

TEST(ZipArchive, RefusesOtherMethodsAndEncryption) {
  auto bytes = zipped({{"a", "some text"}});
  patch(bytes, local, 8, 14, 2);
  patch(bytes, central, 10, 14, 2);
  EXPECT_EQ(unzipped(bytes), "z: entry \"a\": method: 14 is none of stored and deflated");
  bytes = zipped({{"a", "some text"}});
  patch(bytes, local, 6, 1, 2);
  patch(bytes, central, 8, 1, 2);
  EXPECT_NE(unzipped(bytes).find("method: it is encrypted"), std::string::npos) << unzipped(bytes);
}

}  // namespace
}  // namespace cleave
