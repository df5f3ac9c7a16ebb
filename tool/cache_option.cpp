#include "tool/cache_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/disk_cache.h"
#include "tool/cache_location.h"

namespace cleave::tool {

Status CacheOption::apply(CompileOptions& options) const {
  options.cache_dir.clear();
  if (text == "off") return {};
  if (!text.empty() && text != "fresh") {
    options.cache_dir = text;
    return {};
  }
  const Result<std::string> usual = default_cache_folder();
  if (text.empty()) {
    if (usual.ok()) options.cache_dir = *usual;
    return {};
  }
  if (!usual.ok()) return Failure(usual.failure());
  CLEAVE_TRY(const auto cache, cache::DiskCache::open(*usual));
  std::string folder = *usual + "/fresh-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return user_error("--cache fresh: {}: {}", folder, strerror(errno));
  options.cache_dir = folder;
  return {};
}

}  // namespace cleave::tool
