#include "import/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"

namespace cleave::onnx {
namespace {

namespace fs = std::filesystem;

Result<std::string> path_inside(const std::string& location, const DataFolder& folder) {
  if (folder.path.empty())
    return user_error("its data lie in \"{}\", and files beside the model aren't read here",
                      location);
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute())
    return user_error("its data lie in \"{}\", expected a path inside the model's folder",
                      location);
  for (const fs::path& part : relative)
    if (part == "..")
      return user_error("its data lie in \"{}\", expected a path without ..", location);
  std::error_code error;
  const fs::path root = fs::canonical(folder.path, error);
  if (error) return user_error("{}: {}", folder.path, error.message());
  const fs::path found = fs::canonical(root / relative, error);
  if (error) return user_error("its data in \"{}\" can't be read: {}", location, error.message());
  if (!std::ranges::equal(
          root, std::ranges::subrange(
                    found.begin(),
                    std::next(found.begin(), std::min(std::distance(root.begin(), root.end()),
                                                      std::distance(found.begin(), found.end()))))))
    return user_error("its data lie in \"{}\", which leads out of the model's folder", location);
  return found.string();
}

// A number of the external data's entries, or what stands for a missing one.
Result<uint64_t> number_of(const TensorProto& t, const char* key, uint64_t missing) {
  const auto entry = t.external_data.find(key);
  if (entry == t.external_data.end()) return missing;
  const std::string& text = entry->second;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return user_error("the {} of its data is \"{}\", expected a number", key, text);
  return value;
}

}  // namespace

Result<std::vector<std::byte>> read_external(const TensorProto& t, const DataFolder& folder,
                                             size_t expected_bytes) {
  const auto location = t.external_data.find("location");
  if (location == t.external_data.end()) return user_error("its external data have no location");
  CLEAVE_TRY(const std::string path, path_inside(location->second, folder));
  CLEAVE_TRY(const uint64_t offset, number_of(t, "offset", 0));
  CLEAVE_TRY(const uint64_t length, number_of(t, "length", expected_bytes));
  if (length != expected_bytes)
    return user_error("its data have {} bytes, expected {}", length, expected_bytes);
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0)
    return user_error("its data in \"{}\" can't be read: {}", location->second,
                      std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return user_error("its data \"{}\" are no file", location->second);
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (offset > size || length > size - offset)
    return user_error("its data are bytes {} to {} of \"{}\", which has {}", offset,
                      offset + length, location->second, size);
  std::vector<std::byte> bytes(length);
  for (size_t done = 0; done < length;) {
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (got <= 0) return user_error("its data in \"{}\" can't be read", location->second);
    done += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace cleave::onnx
