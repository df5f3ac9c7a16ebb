#include "test/sample/golden.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace cleave::golden {
namespace {

// NAME.clv, then NAME.PART.clv by their names.
std::vector<std::filesystem::path> files_of(const PassRow& row) {
  const std::string name = row.pass().name;
  const std::filesystem::path folder =
      fmt::format("{}/src/pass/{}", CLEAVE_SOURCE_DIR, name_of(row.stage));
  std::vector<std::filesystem::path> parts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (file.starts_with(name + ".") && file.ends_with(".clv") && file != name + ".clv")
      parts.push_back(entry.path());
  }
  std::ranges::sort(parts);
  parts.insert(parts.begin(), folder / (name + ".clv"));
  return parts;
}

Status read_cases(const std::string& path, std::vector<Case>& out) {
  std::ifstream file(path);
  if (!file) return user_error("{}: there is no golden", path);
  const size_t first = out.size();
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
  if (!closed || out.size() == first) return user_error("{}: the last case is not closed", path);
  return {};
}

}  // namespace

Result<std::vector<Case>> cases_of(const PassRow& row) {
  std::vector<Case> out;
  for (const std::filesystem::path& path : files_of(row)) CLEAVE_CHECK(read_cases(path, out));
  return out;
}

}  // namespace cleave::golden
