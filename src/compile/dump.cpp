#include "compile/dump.h"

#include <algorithm>

#include "base/write_file.h"

namespace cleave {

Status Dump::begin() const {
  if (folder_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return user_error("dump: {}: {}", folder_.string(), error.message());
  return {};
}

Status Dump::after(Stage stage, const StageText& text) {
  if (folder_.empty() || stage < Stage::verify) return {};
  StageFiles files = text.files();
  const bool same = std::ranges::equal(files, last_, [](const auto& a, const auto& b) {
    return a.name == b.name && a.text == b.text;
  });
  if (same) return {};
  const int number = static_cast<int>(stage) - static_cast<int>(Stage::verify);
  for (const StageText::File& file : files) {
    const std::string stem =
        file.name.find('.') == std::string::npos ? fmt::format("{}.", name_of(stage)) : "";
    const std::string path = folder_ / fmt::format("{:02}_{}{}", number, stem, file.name);
    CLEAVE_CHECK(write_file(path, file.text));
  }
  last_ = std::move(files);
  return {};
}

}  // namespace cleave
