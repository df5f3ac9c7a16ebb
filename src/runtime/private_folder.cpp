#include "runtime/private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <filesystem>
#include <system_error>

#include "base/descriptor.h"

namespace cleave::runtime {

Result<std::unique_ptr<PrivateFolder>> PrivateFolder::make(const std::string& inside) {
  std::string path = inside + "/cleave-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return user_error("compiler: no folder can be made in {}: {}", inside, strerror(errno));
  return std::make_unique<PrivateFolder>(std::move(path));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status write_private_file(const std::string& path, std::span<const std::byte> bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  int error = file.is_open() ? write_all(file.get(), {&bytes, 1}) : errno;
  if (file.close() != 0 && error == 0) error = errno;
  if (error != 0) return user_error("compiler: {}: {}", path, strerror(error));
  return {};
}

}  // namespace cleave::runtime
