#include "tool/cache_location.h"

#include <cstdlib>
#include <string_view>

namespace cleave::tool {

Result<std::string> default_cache_folder() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text ? text : "");
  };
  if (const auto folder = variable("XDG_CACHE_HOME"); folder.starts_with('/'))
    return fmt::format("{}/cleave", folder);
  if (const auto home = variable("HOME"); home.starts_with('/'))
    return fmt::format("{}/.cache/cleave", home);
  return user_error(
      "neither XDG_CACHE_HOME nor HOME names a folder for the cache; say --cache DIR");
}

}  // namespace cleave::tool
