// Reads zip archives, stored and deflated, zip64 too, by libzip.
//
//   CLEAVE_TRY(ZipArchive zip, ZipArchive::open("model.pt2"));
//   const ZipArchive::Entry* e = zip.find("model/archive_format");
//   CLEAVE_TRY(std::vector<std::byte> bytes, zip.read(*e));
//
// The file is hostile until each of these holds; an error names the file, the entry and the rule:
//   format    libzip finds the archive and its directory consistent
//   name      UTF-8 or ASCII without NUL, not absolute, no `..`, no backslash, at most 4096 bytes
//   unique    no name occurs twice (libzip finds it, of names in UTF-8)
//   method    stored or deflated, not encrypted
//   size      a stored entry takes its size; a deflated one at most 1032 times what it takes in the
//             file; all of them together at most 64 times the file and 1 MiB
//   data      an entry unpacks to the size and the CRC that the directory gives
// Nothing is unpacked to disk; memory is taken for one entry at a time, after its size was checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct zip;

namespace cleave {

class ZipArchive {
 public:
  struct Entry {
    std::string name;
    uint64_t bytes = 0;  // unpacked
    uint64_t index = 0;
  };

  // Whether a file that begins so is meant as an archive.
  static bool begins(std::string_view bytes);
  static Result<ZipArchive> open(const std::string& path);
  // The same for bytes in memory; errors name `name` instead of a path. Packing::stored: entries
  // that are deflated are refused, as an archive in an archive could unpack to 64 * 64 times.
  enum class Packing : uint8_t { any, stored };
  static Result<ZipArchive> from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                       Packing packing = Packing::any);

  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return file_bytes_; }
  // In the order of the archive's directory; folders are left out.
  const std::vector<Entry>& entries() const { return entries_; }
  // Returns null if there is none of that name.
  const Entry* find(std::string_view name) const;
  // Unpacks the entry, and checks its CRC.
  Result<std::vector<std::byte>> read(const Entry& entry) const;

 private:
  ZipArchive() = default;
  Status list_entries(uint64_t file_bytes, Packing packing);

  struct Closer {
    void operator()(zip* z) const;
  };
  std::string path_;
  uint64_t file_bytes_ = 0;
  std::shared_ptr<const std::vector<std::byte>> memory_;  // outlives zip_
  std::unique_ptr<zip, Closer> zip_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace cleave
