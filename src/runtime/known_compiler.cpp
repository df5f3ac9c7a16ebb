#include "runtime/known_compiler.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/clang_plugin.h"

namespace cleave::runtime {
namespace {

constexpr std::string_view format_line = "cleave compiler 1";

// "SIZE SECONDS.NANOSECONDS PATH"; empty if there is no such file.
std::string stamp_of(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return "";
  return fmt::format("{} {}.{:09} {}", s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, path);
}

// What LLVM asks a processor for its name and features, and what the system has enabled of them.
#if defined(__x86_64__)
std::string processor() {
  std::string text;
  bool asks_system = false;
  for (const unsigned leaf : {0u, 1u, 7u, 0x14u, 0x19u, 0x24u, 0x80000001u, 0x80000008u})
    for (const unsigned part : {0u, 1u}) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, part, &a, &b, &c, &d)) continue;
      if (leaf == 1) b = 0;  // the number of the core that answers
      if (leaf == 1) asks_system = c & bit_OSXSAVE;
      text += fmt::format("{:x}.{}:{:x},{:x},{:x},{:x};", leaf, part, a, b, c, d);
    }
  if (!asks_system) return text;
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return fmt::format("{}system:{:x},{:x}", text, high, low);
}
#else
std::string processor() {
  std::string name;
  std::getline(std::ifstream("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"), name);
  return fmt::format("{};{:x},{:x}", name, getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}
#endif

}  // namespace

std::string known_clang_key(const Target& target) {
  const std::string plugin = clang_plugin_path();
  if (plugin.empty()) return "";
  return fmt::format("{}\n{}\n{} {}\n{}", plugin, clang_plugin_build, target.text(),
                     target.is_native, processor());
}

std::string remembered_clang(const std::string& identity) {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        const std::string_view path = info->dlpi_name;
        for (const char* name : {"libLLVM", "libclang", clang_plugin_file})
          if (path.find(name) != std::string_view::npos)
            static_cast<std::vector<std::string>*>(out)->push_back(stamp_of(std::string(path)));
        return 0;
      },
      &files);
  std::string text = fmt::format("{}\n{}\n", format_line, identity);
  for (const std::string& file : files) text += file + "\n";
  return text;
}

std::optional<std::string> known_identity(const std::string& remembered) {
  std::istringstream lines(remembered);
  std::string line, identity;
  if (!std::getline(lines, line) || line != format_line || !std::getline(lines, identity))
    return {};
  int files = 0;
  for (; std::getline(lines, line); ++files) {
    const size_t space = line.find(' ', line.find(' ') + 1);
    if (space == std::string::npos || stamp_of(line.substr(space + 1)) != line) return {};
  }
  if (files == 0) return {};
  return identity;
}

}  // namespace cleave::runtime
