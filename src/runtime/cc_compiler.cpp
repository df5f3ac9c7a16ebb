// The system's compiler as a process of its own:
//
//   FOLDER/cleave-XXXXXX/unit.c --cc--> FOLDER/cleave-XXXXXX/unit.so
//
// Text with vectors longer than the target's registers (for AVX-512: where they are compared) is
// compiled as C++, with lanes in parts (lane_parts.h), where the compiler is gcc and has its C++
// front end. It needs no library of C++.
//
// Each compile has a private folder (mode 0700, an unpredictable name), which is removed before the
// code is returned.
#include <errno.h>
#include <string.h>

#include <fstream>

#include "runtime/compiler.h"
#include "runtime/lane_part_functions.h"
#include "runtime/lane_parts.h"
#include "runtime/private_folder.h"
#include "runtime/subprocess.h"

namespace cleave::runtime {
namespace {

// A cross compiler knows no native processor; the text has vectors of 128 bits on every aarch64.
std::string processor_of(const Target& target) {
  if (target.set == InstructionSet::neon) return "armv8-a";
  const bool has_bf16 = !target.is_native && target.set >= InstructionSet::avx512bf16;
  return std::string(has_bf16 ? "x86-64-v4" : target.text());
}

// Most of these flags are the rules for arithmetic of compiler.h.
std::vector<std::string> flags_for(const Target& target) {
  std::vector<std::string> flags = {"-O3",
                                    "-march=" + processor_of(target),
                                    "-fwrapv",
                                    "-fno-strict-aliasing",
                                    "-fno-builtin",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fPIC",
                                    "-w"};
  if (!target.is_native && target.set >= InstructionSet::avx512bf16)
    flags.emplace_back("-mavx512bf16");
  return flags;
}

constexpr const char* as_c[] = {"-std=gnu11", "-x", "c"};
constexpr const char* as_parts[] = {"-std=gnu++17", "-fpermissive", "-fno-exceptions",
                                    "-fno-rtti",    "-x",           "c++"};

// In the place of AVX-512's.
constexpr const char* of_avx2[] = {"-march=x86-64-v3", "-mno-avx512f"};

// Text of src/emit with lanes; the macro names their types.
bool has_lanes(const std::string& c_text) {
  return c_text.find("#define VECTOR(") != std::string::npos;
}

// Which lanes are compiled in parts. clang by the name of cc splits them itself. Of 64 lanes that
// are compared gcc makes 64 comparisons with AVX-512, too: sums of the columns of relu's gradient
// of [784,256] take 380 us so, and 30 in parts, by AVX2 (Zen 5, 2026-11-30).
enum class InParts : uint8_t { none, compared, all };

InParts parts_for(const Target& target, const std::string& command, const std::string& version) {
  if (version.find("clang") != std::string::npos) return InParts::none;
  const auto found = run_program({command, "-print-prog-name=cc1plus"});
  if (!found.ok() || found->exit_status != 0 || !found->messages.starts_with('/'))
    return InParts::none;
  return target.set >= InstructionSet::avx512 ? InParts::compared : InParts::all;
}

// By the type of what a comparison of 64 lanes gives.
bool compares_columns(const std::string& c_text) {
  return c_text.find("i32x64") != std::string::npos;
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return user_error("compiler: cc: {}: {}", path, strerror(errno));
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return std::vector<std::byte>(begin, begin + bytes.size());
}

class CcCompiler final : public Compiler {
 public:
  CcCompiler(std::string command, std::vector<std::string> flags, InParts in_parts,
             std::string folder, std::string identity)
      : command_(std::move(command)), flags_(std::move(flags)), in_parts_(in_parts),
        folder_(std::move(folder)), identity_(std::move(identity)) {}

  Result<ObjectCode> object(const std::string& c_text, const std::string& unit_name,
                            TextKind /*kind*/) override {
    ObjectCode code{.form = ObjectCode::Form::shared};
    CLEAVE_TRY(code.bytes, compiled(c_text, unit_name, "-shared", "-lm"));
    return code;
  }
  Result<std::vector<std::byte>> relocatable(const std::string& c_text,
                                             const std::string& unit_name,
                                             TextKind /*kind*/) override {
    return compiled(c_text, unit_name, "-c", "");
  }
  std::string_view name() const override { return "cc"; }
  const std::string& identity() const override { return identity_; }

 private:
  // `form` and `library` are two of its arguments.
  Result<std::vector<std::byte>> compiled(const std::string& c_text, const std::string& unit_name,
                                          const std::string& form, const std::string& library) {
    CLEAVE_TRY(std::unique_ptr<PrivateFolder> folder, PrivateFolder::make(folder_));
    const std::string source = folder->path() + "/unit.c", out = folder->path() + "/unit.out";
    // Diagnostics name the unit, not the temporary file.
    std::string named = fmt::format("#line 1 \"{}.c\"\n{}", unit_name, c_text);
    const bool in_short_parts = in_parts_ == InParts::compared && compares_columns(c_text);
    const bool in_parts = has_lanes(c_text) && (in_parts_ == InParts::all || in_short_parts);
    if (in_parts) named = fmt::format("{}{}{}\n}}\n", lane_parts, lane_part_functions, named);
    CLEAVE_CHECK(write_private_file(source, std::as_bytes(std::span(named))));
    std::vector<std::string> arguments = {command_};
    arguments.insert(arguments.end(), flags_.begin(), flags_.end());
    if (in_short_parts) arguments.insert(arguments.end(), std::begin(of_avx2), std::end(of_avx2));
    if (in_parts)
      arguments.insert(arguments.end(), std::begin(as_parts), std::end(as_parts));
    else
      arguments.insert(arguments.end(), std::begin(as_c), std::end(as_c));
    arguments.insert(arguments.end(), {form, "-o", out, source, "-x", "none"});
    if (!library.empty()) arguments.push_back(library);
    CLEAVE_TRY(Finished finished, run_program(arguments));
    if (finished.exit_status != 0)
      return bug("compiler: cc: {} doesn't compile (exit status {}):\n{}", unit_name,
                 finished.exit_status, finished.messages);
    return read_file(out);
  }

  const std::string command_;
  const std::vector<std::string> flags_;
  const InParts in_parts_;
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
  const InParts in_parts = parts_for(target, command, asked->messages);
  if (in_parts != InParts::none) {
    const std::string text = std::string(lane_parts) + lane_part_functions;
    identity += fmt::format(" parts {:016x}", std::hash<std::string>()(text));
  }
  return std::shared_ptr<Compiler>(std::make_shared<CcCompiler>(command, std::move(flags), in_parts,
                                                                folder, std::move(identity)));
}

}  // namespace cleave::runtime
