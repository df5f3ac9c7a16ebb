// Whether a test runs in an emulator of another processor (cmake/list_suites.cmake says so). qemu's
// user emulation has no limit of address space, no fork of a process with threads, and shows the
// pages and threads of /proc/self as they are outside.
#pragma once
#include <cstdlib>

namespace cleave::test {

inline bool is_emulated() { return std::getenv("CLEAVE_TEST_EMULATED") != nullptr; }

}  // namespace cleave::test
