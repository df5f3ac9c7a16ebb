// What this thread traces, for messages.
#pragma once
#include <map>
#include <string>

#include "cleave/nn.h"
#include "trace/variable_state.h"

namespace cleave::trace {

struct Tracing {
  Recording* program = nullptr;    // whose function is being called
  const void* module = nullptr;    // the innermost one that is being called (nn::Module::Call)
  const char* function = nullptr;  // of cleave, of whose operands the recorded indices are classes
  const char* sizes = nullptr;     // "B=7", where sizes of the inputs vary: what the program is for
};
Tracing& tracing();

// Sets a member of this thread's Tracing, and resets it.
template <class T>
class Within {
 public:
  Within(T Tracing::* member, T value)
      : member_(member), outer_(std::exchange(tracing().*member, value)) {}
  ~Within() { tracing().*member_ = outer_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  T Tracing::* member_;
  T outer_;
};

// Each module's path in the model, "encoder.layers.3": its own is empty.
struct ModulePaths {
  static std::map<const void*, std::string> of(const nn::Module& model);
};

// "\n  in module `encoder.layers.3`": the one that is being called; empty if there is none, or if
// the traced model doesn't hold it.
std::string module_note();
// "\n  in the program for B=7"; empty if no sizes vary.
std::string sizes_note();

// Warns if the value of a Variable is read while a function is traced.
void note_reading(const VariableState& variable, Location at);

}  // namespace cleave::trace
