#include "ahead/link_library.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/compiler.h"
#include "runtime/library_folders.h"
#include "runtime/private_folder.h"
#include "runtime/subprocess.h"

namespace cleave::ahead {
namespace {

constexpr const char* runtime_file = "libcleave_rt.a";

Result<std::string> runtime_archive() {
  std::string folders;
  for (const std::filesystem::path& folder : runtime::library_folders()) {
    std::error_code error;
    if (std::filesystem::exists(folder / runtime_file, error))
      return (folder / runtime_file).string();
    folders += (folders.empty() ? "" : " or in ") + folder.string();
  }
  return unsupported("there is no {} in {}: keep it beside libcleave.so, as it is installed",
                     runtime_file, folders.empty() ? "the folder of libcleave.so" : folders);
}

// Runs a program of the system; a failure has its messages.
Result<std::string> run(const std::vector<std::string>& arguments, const char* package) {
  Result<runtime::Finished> finished = runtime::run_program(arguments);
  if (!finished.ok() && finished.failure().kind == ErrorKind::unsupported)
    return unsupported("there is no `{}` in PATH: install {}", arguments[0], package);
  if (!finished.ok()) return std::move(finished).failure();
  if (finished->exit_status != 0)
    return bug("{} ends with status {}:\n{}", arguments[0], finished->exit_status,
               finished->messages);
  return std::move(finished->messages);
}

// The archives that are linked in, which packages of compilers bring.
Status check_archives() {
  for (const auto& [file, package] : {std::pair("libstdc++.a", "g++ (libstdc++-*-dev)"),
                                      std::pair("libgcc_eh.a", "gcc (libgcc-*-dev)"),
                                      std::pair("libc_nonshared.a", "libc6-dev (glibc-devel)")}) {
    CLEAVE_TRY(const std::string found,
               run({runtime::cc_command(), fmt::format("-print-file-name={}", file)}, "gcc"));
    if (found.find('/') == std::string::npos)
      return unsupported("the system's compiler has no {}: install {}", file, package);
  }
  return {};
}

Status write(const std::string& path, std::string_view bytes) {
  return runtime::write_private_file(path, std::as_bytes(std::span(bytes)));
}

Result<std::vector<std::byte>> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(in ? static_cast<size_t>(in.tellg()) : 0);
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) return user_error("{}: {}", path, strerror(errno));
  return bytes;
}

}  // namespace

Status check_link_tools() {
  CLEAVE_CHECK(runtime_archive());
  CLEAVE_CHECK(check_archives());
  CLEAVE_CHECK(run({runtime::objcopy_command(), "--version"}, "binutils"));
  return {};
}

Result<std::vector<std::byte>> link_library(const LibraryParts& parts) {
  CLEAVE_TRY(const std::string archive, runtime_archive());
  CLEAVE_CHECK(check_archives());
  CLEAVE_TRY(const auto inside, runtime::PrivateFolder::make("/tmp"));
  const std::string folder = inside->path() + "/";
  std::vector<std::string> objects;
  for (size_t k = 0; k < parts.objects.size(); ++k) {
    objects.push_back(fmt::format("{}unit{}.o", folder, k));
    CLEAVE_CHECK(runtime::write_private_file(objects.back(), parts.objects[k]));
    if (!parts.own_symbols[k].empty())
      CLEAVE_CHECK(run({runtime::objcopy_command(), "--keep-global-symbol=" + parts.own_symbols[k],
                        objects.back()},
                       "binutils"));
  }
  CLEAVE_CHECK(write(folder + "main.c", parts.c_text));
  CLEAVE_CHECK(write(folder + "program.bin", parts.program));
  CLEAVE_CHECK(runtime::write_private_file(folder + "weights.bin", parts.weights));
  std::string exports = "{ global:";
  for (const std::string& symbol : parts.exported) exports += " " + symbol + ";";
  CLEAVE_CHECK(write(folder + "exports.map", exports + " local: *; };\n"));
  CLEAVE_CHECK(
      run({runtime::cc_command(), "-c", "-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-g0",
           "-Wa,-I," + inside->path(), "-o", folder + "main.o", folder + "main.c"},
          "gcc"));
  // Libraries by their files: libc's own list would add the dynamic linker, whose one function that
  // is called every process has.
  std::vector<std::string> link = {runtime::cc_command(), "-shared",        "-nodefaultlibs", "-o",
                                   folder + "library.so", folder + "main.o"};
  link.insert(link.end(), objects.begin(), objects.end());
  link.insert(link.end(),
              {archive, "-l:libstdc++.a", "-l:libgcc_eh.a", "-l:libgcc.a", "-l:libm.so.6",
               "-l:libc.so.6", "-l:libc_nonshared.a", "-Wl,--gc-sections", "-Wl,--build-id=none",
               "-Wl,-z,noexecstack", "-Wl,-z,now", "-Wl,-s", "-Wl,-soname," + parts.file,
               "-Wl,--version-script=" + folder + "exports.map"});
  CLEAVE_CHECK(run(link, "gcc"));
  return read(folder + "library.so");
}

}  // namespace cleave::ahead
