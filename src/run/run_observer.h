// What is told of runs: an Executor that is a RunObserver as well is told of each run of a program
// on it, and of each of its thunks. Any other costs a run nothing.
#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

namespace cleave {

class RunObserver {
 public:
  using Clock = std::chrono::steady_clock;
  using Name = uint32_t;

  virtual ~RunObserver() = default;
  // A number for a thunk's name and kind. Called when a program is made ready to run.
  virtual Name add_name(std::string_view name, std::string_view kind) = 0;
  // Around each thunk and each run, on the thread that runs: they nest. `name` of a run is `whole`.
  virtual void began(Name name) = 0;
  virtual void ended() = 0;

  static constexpr Name whole = 0;
};

}  // namespace cleave
