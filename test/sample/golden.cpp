#include "test/sample/golden.h"

#include <fstream>

namespace cleave::golden {

Result<std::vector<Case>> cases_of(const PassRow& row) {
  const std::string path =
      fmt::format("{}/src/pass/{}/{}.clv", CLEAVE_SOURCE_DIR, name_of(row.stage), row.pass().name);
  std::ifstream file(path);
  if (!file) return user_error("{}: there is no golden", path);
  std::vector<Case> out;
  std::string* into = nullptr;
  bool closed = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      if (!closed) return user_error("{}: '{}' has neither becomes nor unchanged", path, line);
      out.push_back({line.substr(3), "", ""});
      into = &out.back().before;
      closed = false;
    } else if (line == "-- becomes" || line == "-- unchanged") {
      if (closed) return user_error("{}: '{}' without a case", path, line);
      into = line == "-- becomes" ? &out.back().after : nullptr;
      closed = true;
    } else if (into) {
      *into += line + "\n";
    } else if (!line.empty() && !line.starts_with("#")) {
      return user_error("{}: '{}' belongs to no case", path, line);
    }
  }
  if (!closed || out.empty()) return user_error("{}: the last case is not closed", path);
  return out;
}

}  // namespace cleave::golden
