// Whether a test runs in an emulator of another processor (cmake/list_suites.cmake says so). qemu's
// user emulation has no limit of address space, no fork of a process with threads, and shows the
// pages and threads of /proc/self as they are outside.
#pragma once
#include <cstdlib>
#include <filesystem>

namespace cleave::test {

inline bool is_emulated() { return std::getenv("CLEAVE_TEST_EMULATED") != nullptr; }

// Where the command and cleave_planted are that a test may start: beside it, or scripts that run
// them in the emulator.
inline std::filesystem::path command_folder() {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return is_emulated() ? beside / "emulated" : beside;
}

}  // namespace cleave::test
