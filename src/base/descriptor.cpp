#include "base/descriptor.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace cleave {

int write_all(int fd, Pieces pieces) {
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      constexpr size_t most = size_t{1} << 30;
      const ssize_t n = ::write(fd, piece.data(), std::min(piece.size(), most));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return ENOSPC;
      piece = piece.subspan(static_cast<size_t>(n));
    }
  }
  return 0;
}

uint64_t largest_file_bytes() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? uint64_t{limit.rlim_cur}
                                                : std::numeric_limits<uint64_t>::max();
}

}  // namespace cleave
