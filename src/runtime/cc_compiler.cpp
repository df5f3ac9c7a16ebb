// The system's compiler as a process of its own:
//
//   FOLDER/cleave-XXXXXX/unit.c --cc--> FOLDER/cleave-XXXXXX/unit.so --dlopen--> addresses
//
// Each compile has a private folder (mode 0700, an unpredictable name), which is removed before the
// code is returned: a loaded library no longer needs its file.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "runtime/compiler.h"
#include "runtime/subprocess.h"

namespace cleave::runtime {
namespace {

// Most of these flags are the rules for arithmetic of compiler.h.
std::vector<std::string> flags_for(const Target& target) {
  const bool has_bf16 = !target.is_native && target.set == InstructionSet::avx512bf16;
  std::vector<std::string> flags = {
      "-std=gnu11",
      "-O3",
      fmt::format("-march={}", has_bf16 ? "x86-64-v4" : target.text()),
      "-fwrapv",
      "-fno-builtin",
      "-ffp-contract=off",
      "-fno-math-errno",
      "-fno-trapping-math",
      "-shared",
      "-fPIC",
      "-w"};
  if (has_bf16) flags.emplace_back("-mavx512bf16");
  return flags;
}

class PrivateFolder {
 public:
  static Result<std::unique_ptr<PrivateFolder>> make(const std::string& inside) {
    std::string path = inside + "/cleave-XXXXXX";
    if (mkdtemp(path.data()) == nullptr)
      return user_error("compiler: cc: no folder can be made in {}: {}", inside, strerror(errno));
    return std::make_unique<PrivateFolder>(std::move(path));
  }
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status write_file(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return user_error("compiler: cc: {}: {}", path, strerror(errno));
  size_t done = 0;
  int error = 0;
  while (done < text.size() && error == 0) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote >= 0) done += static_cast<size_t>(wrote);
    if (wrote < 0 && errno != EINTR) error = errno;
  }
  if (close(file) != 0 && error == 0) error = errno;
  if (error != 0) return user_error("compiler: cc: {}: {}", path, strerror(error));
  return {};
}

class SharedCode final : public LoadedCode {
 public:
  explicit SharedCode(void* handle) : handle_(handle) {}
  ~SharedCode() override { dlclose(handle_); }
  void* symbol(const std::string& name) const override { return dlsym(handle_, name.c_str()); }

 private:
  void* handle_;
};

class CcCompiler final : public Compiler {
 public:
  CcCompiler(std::string command, std::vector<std::string> flags, std::string folder,
             std::string identity)
      : command_(std::move(command)), flags_(std::move(flags)), folder_(std::move(folder)),
        identity_(std::move(identity)) {}

  Result<std::shared_ptr<LoadedCode>> compile(const std::string& c_text,
                                              const std::string& unit_name,
                                              TextKind /*kind*/) override {
    CLEAVE_TRY(std::unique_ptr<PrivateFolder> folder, PrivateFolder::make(folder_));
    const std::string source = folder->path() + "/unit.c", library = folder->path() + "/unit.so";
    // Diagnostics name the unit, not the temporary file.
    CLEAVE_CHECK(write_file(source, fmt::format("#line 1 \"{}.c\"\n{}", unit_name, c_text)));
    std::vector<std::string> arguments = {command_};
    arguments.insert(arguments.end(), flags_.begin(), flags_.end());
    arguments.insert(arguments.end(), {"-o", library, source, "-lm"});
    CLEAVE_TRY(Finished finished, run_program(arguments));
    if (finished.exit_status != 0)
      return bug("compiler: cc: {} doesn't compile (exit status {}):\n{}", unit_name,
                 finished.exit_status, finished.messages);
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return bug("compiler: cc: {}: {}", unit_name, dlerror());
    return std::shared_ptr<LoadedCode>(std::make_shared<SharedCode>(handle));
  }
  std::string_view name() const override { return "cc"; }
  const std::string& identity() const override { return identity_; }

 private:
  const std::string command_;
  const std::vector<std::string> flags_;
  const std::string folder_, identity_;
};

}  // namespace

Result<std::shared_ptr<Compiler>> make_cc_compiler(const Target& target, const std::string& command,
                                                   const std::string& folder) {
  auto asked = run_program({command, "--version"});
  if (!asked.ok() && asked.failure().kind == ErrorKind::unsupported)
    return unsupported("compiler: cc: no program {} in PATH: install a C compiler", command);
  if (!asked.ok()) return std::move(asked).failure().within("compiler: cc");
  if (asked->exit_status != 0)
    return unsupported("compiler: cc: {} --version ends with status {}: {}", command,
                       asked->exit_status, asked->messages);
  std::string identity = asked->messages.substr(0, asked->messages.find('\n'));
  std::vector<std::string> flags = flags_for(target);
  for (const std::string& flag : flags) identity += " " + flag;
  return std::shared_ptr<Compiler>(
      std::make_shared<CcCompiler>(command, std::move(flags), folder, std::move(identity)));
}

}  // namespace cleave::runtime
