#include "backend/cuda/device_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace cleave::cuda {
namespace {

struct Text {
  std::string_view name, text;
};
constexpr Text texts[] = {
#include "device_texts.inc"
};

constexpr std::string_view include = "#include \"backend/cuda/device/";

// The text with what it includes, but for what is there already.
void append(std::string_view name, std::set<std::string_view>& there, std::string& out) {
  const Text* found = std::ranges::find(texts, name, &Text::name);
  if (found == std::end(texts) || !there.insert(found->name).second) return;
  std::string_view rest = found->text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.starts_with(include))
      append(line.substr(include.size(), line.rfind('"') - include.size()), there, out);
    else
      out.append(line).push_back('\n');
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
}

}  // namespace

std::string device_source(const DeviceCall& call) {
  std::string out;
  std::set<std::string_view> there;
  append(call.header, there, out);
  std::string declared, passed;
  for (size_t i = 0; i < call.parameters.size(); ++i) {
    const char* comma = i == 0 ? "" : ", ";
    declared += fmt::format("{}{} x{}", comma, call.parameters[i], i);
    passed += fmt::format("{}x{}", comma, i);
  }
  out += fmt::format(
      "using namespace cleave::cuda::device;\n"
      "extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n  {}({});\n}}\n",
      device_threads, device_symbol, declared, call.function, passed);
  return out;
}

}  // namespace cleave::cuda
