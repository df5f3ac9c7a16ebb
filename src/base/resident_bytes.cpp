#include "base/resident_bytes.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/descriptor.h"

namespace cleave {

// /proc/self/statm: total pages, resident pages, ...
int64_t resident_bytes() {
  const Descriptor file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128] = {};
  if (!file.is_open() || ::read(file.get(), text, sizeof(text) - 1) <= 0) return 0;
  char* resident = nullptr;
  strtoll(text, &resident, 10);
  return strtoll(resident, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

}  // namespace cleave
