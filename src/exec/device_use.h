// Who may be using a block of a device's memory: an instance whose runs aren't waited for.
#pragma once
#include "base/result.h"

namespace cleave {

// A run that was started (Instance::start).
class StartedRun {
 public:
  virtual ~StartedRun() = default;
  // When it is over: told once, by whichever thread waited for it or for a later one. Only
  // Instance::ended_result may be asked of the instance meanwhile.
  virtual void ended(const Status& status) = 0;
};

// The runs of an instance. It may outlive the instance, and has none then. Thread-safe.
class DeviceUse {
 public:
  virtual ~DeviceUse() = default;
  // Waits for all runs. Error: one of them failed, and nobody was told of it yet.
  virtual Status settle() = 0;
  // The same, and leaves it to others to be told.
  virtual void wait() = 0;
  // Waits for this run, if it is one of them; whoever asks is told by its status.
  virtual void wait_for(const StartedRun& run) = 0;
};

}  // namespace cleave
