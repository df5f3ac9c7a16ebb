// A program in a process of its own, with limits: whatever it does, the caller goes on.
//
//   CLEAVE_TRY(ChildEnd end, run_child({"/bin/sh", "-c", command}, {.seconds = 10}));
//   if (end.how == ChildEnd::How::signal) ...  // end.number is SIGSEGV
//
// It and what it starts are a process group, which is killed when it ends, at its time limit, and
// if `stop` says so. Nothing is on its standard input; its standard output is dropped, of its
// standard error the end is kept. It leaves no core file, and dies with the caller's thread. Linux.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave {

struct ChildLimits {
  double seconds = 0;        // of wall time; 0: none
  int64_t memory_bytes = 0;  // of address space, of each of its processes; 0: none
};

struct ChildEnd {
  enum class How : uint8_t {
    exit,     // by itself
    signal,   // a crash
    time,     // it was killed at its time limit
    stopped,  // it was killed because `stop` said so
  };
  How how = How::exit;
  int number = 0;        // its exit status, or the signal
  double seconds = 0;    // from start to end
  std::string messages;  // the last 16 KiB of its standard error

  // "exit status 3", "signal 11 (Segmentation fault)", "no end within 10 s", "stopped"
  std::string text(const ChildLimits& limits = {}) const;
};

// Starts command[0], which is looked up in PATH, and waits for its end. `stop` is asked some twenty
// times a second. Errors: user if it can't be started, bug if the system refuses a process or pipe.
Result<ChildEnd> run_child(const std::vector<std::string>& command, const ChildLimits& limits = {},
                           const std::function<bool()>& stop = {});

}  // namespace cleave
