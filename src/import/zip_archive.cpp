// Reads zip archives: the rules of zip_archive.h around libzip.
#include "import/zip_archive.h"

#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/printable.h"

namespace cleave {
namespace {

constexpr size_t longest_name = 4096;
constexpr uint64_t most_deflated = 1032;  // what deflate can pack into one byte
constexpr uint64_t most_unpacked = 64;    // times the file

// Owns the text that zip_error_strerror makes.
struct ZipError {
  explicit ZipError(int code = 0) { zip_error_init_with_code(&error, code); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(&error); }
  zip_error_t error;
};

Failure zip_failure(std::string_view rule, zip_error_t* error) {
  return user_error("{}: {}", rule, zip_error_strerror(error));
}

Status check_name(std::string_view name) {
  if (name.empty()) return user_error("name: an entry has no name");
  const std::string shown = printable(name);
  if (name.size() > longest_name)
    return user_error("name: {} has more than {} bytes", shown, longest_name);
  if (name.front() == '/' || name.find('\\') != name.npos)
    return user_error("name: {} is absolute or has a backslash", shown);
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    if (name.substr(at, end - at) == "..") return user_error("name: {} leads out by ..", shown);
    at = end + 1;
  }
  return {};
}

// A stored entry lies in the file as it is; a deflated one has a bound by its algorithm.
Status check_size(const zip_stat_t& s, uint64_t file_bytes) {
  const std::string shown = printable(s.name);
  if (s.encryption_method != ZIP_EM_NONE)
    return user_error("entry {}: method: it is encrypted", shown);
  if (s.comp_method != ZIP_CM_STORE && s.comp_method != ZIP_CM_DEFLATE)
    return user_error("entry {}: method: {} is none of stored and deflated", shown, s.comp_method);
  if (s.comp_size > file_bytes)
    return user_error("entry {}: size: it takes {} bytes of a file of {}", shown, s.comp_size,
                      file_bytes);
  const bool stored = s.comp_method == ZIP_CM_STORE;
  if (stored ? s.size != s.comp_size : s.size / most_deflated > s.comp_size)
    return user_error("entry {}: size: {} bytes can't come of {} in the file", shown, s.size,
                      s.comp_size);
  return {};
}

zip_t* open_memory(const std::vector<std::byte>& bytes, zip_error_t* error) {
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error);
  if (!source) return nullptr;
  zip_t* z = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error);
  if (!z) zip_source_free(source);
  return z;
}

}  // namespace

void ZipArchive::Closer::operator()(zip* z) const { zip_discard(z); }

Status ZipArchive::list_entries(uint64_t file_bytes, Packing packing) {
  file_bytes_ = file_bytes;
  if (file_bytes == 0) return user_error("format: the file is empty");
  const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
  uint64_t unpacked = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t s;
    if (zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW, &s) != 0)
      return zip_failure("format", zip_get_error(zip_.get()));
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((s.valid & needed) != needed) return user_error("format: entry {} has no size", i);
    const std::string_view name = s.name;
    CLEAVE_CHECK(check_name(name));
    CLEAVE_CHECK(check_size(s, file_bytes));
    if (packing == Packing::stored && s.comp_method != ZIP_CM_STORE)
      return user_error("entry {}: method: it is deflated, in an archive in an archive",
                        printable(name));
    unpacked += s.size;  // each at most 1032 times a file's size
    if (unpacked / most_unpacked > file_bytes + (uint64_t{1} << 20) / most_unpacked)
      return user_error("size: its entries unpack to more than {} times its {} bytes",
                        most_unpacked, file_bytes);
    if (name.ends_with('/')) continue;
    if (!by_name_.emplace(name, entries_.size()).second)
      return user_error("unique: {} is there twice", printable(name));
    entries_.push_back({std::string(name), s.size, static_cast<uint64_t>(i)});
  }
  return {};
}

Result<ZipArchive> ZipArchive::open(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return user_error("{}: open: {}", path, std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return user_error("{}: open: not a file", path);
  ZipArchive archive;
  archive.path_ = path;
  int code = 0;
  archive.zip_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  ZipError e(code);
  if (!archive.zip_) return zip_failure("format", &e.error).within(path);
  if (Status s = archive.list_entries(static_cast<uint64_t>(status.st_size), Packing::any); !s.ok())
    return std::move(s).failure().within(path);
  return archive;
}

bool ZipArchive::begins(std::string_view bytes) { return bytes.starts_with("PK\3\4"); }

Result<ZipArchive> ZipArchive::from_bytes(std::vector<std::byte> bytes, const std::string& name,
                                          Packing packing) {
  ZipArchive archive;
  archive.path_ = name;
  archive.memory_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  ZipError e;
  archive.zip_.reset(open_memory(*archive.memory_, &e.error));
  if (!archive.zip_) return zip_failure("format", &e.error).within(name);
  if (Status s = archive.list_entries(archive.memory_->size(), packing); !s.ok())
    return std::move(s).failure().within(name);
  return archive;
}

const ZipArchive::Entry* ZipArchive::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &entries_[at->second];
}

Result<std::vector<std::byte>> ZipArchive::read(const Entry& entry) const {
  const auto wrong = [&](std::string_view what) {
    return user_error("{}: entry {}: data: {}", path_, printable(entry.name), what);
  };
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(zip_.get(), entry.index, 0), zip_fclose);
  if (!file) return wrong(zip_strerror(zip_.get()));
  std::vector<std::byte> bytes(entry.bytes);
  for (size_t done = 0; done < bytes.size();) {
    const zip_int64_t n = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0) return wrong(zip_file_strerror(file.get()));
    if (n == 0) return wrong(fmt::format("it ends after {} of {} bytes", done, bytes.size()));
    done += static_cast<size_t>(n);
  }
  std::byte more;  // the CRC is compared at the end
  const zip_int64_t n = zip_fread(file.get(), &more, 1);
  if (n < 0) return wrong(zip_file_strerror(file.get()));
  if (n > 0) return wrong(fmt::format("it has more than {} bytes", bytes.size()));
  return bytes;
}

}  // namespace cleave
