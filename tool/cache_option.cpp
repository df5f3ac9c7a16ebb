#include "tool/cache_option.h"

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
  CLEAVE_TRY(options.cache_dir, cache::make_fresh_folder(*usual));
  return {};
}

}  // namespace cleave::tool
