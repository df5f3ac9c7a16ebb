// Variables in the memory of a device.
//
//   the host writes     set(), load_checkpoint, data()     copied in with the next run
//   the device writes   a run that updates it              copied back when the host reads it
//
// A Variable has one such copy, which stays where it is: programs for one device share it. Of one
// for another device the copy moves, through the host, unless it is memory of the host program
// (Variable::bind): that is an error (user). Whoever touches it waits for the runs that
// were started with it (DeviceUse), but these runs' own instance.
#pragma once
#include "backend/device_memory.h"
#include "exec/device_use.h"
#include "exec/executable.h"
#include "trace/variable_state.h"

namespace cleave {

// Where its elements lie in that memory, with the values that it has now. Errors: those of
// DeviceMemory; of a run that was waited for and failed. With a `use` that has it from now on.
Result<void*> on_device(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory,
                        const std::shared_ptr<DeviceUse>& use = nullptr);

// Whether it lies there already, with whatever values.
bool has_place(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory);

// Binds a placeholder to a Variable, where the instance's operands lie, unless it is `bound` there.
// Returns the address.
Result<void*> bind_variable(Instance& instance, size_t placeholder, trace::VariableState& variable,
                            const void* bound = nullptr,
                            const std::shared_ptr<DeviceUse>& use = nullptr);

// Whether bind_variable would change nothing: the Variable's copy is `copy`, which this use has and
// nobody has written since. Takes no lock: of a Variable that only programs of one thread touch
// now.
bool stays(const trace::VariableState& variable, const std::weak_ptr<const trace::DeviceCopy>& copy,
           const DeviceUse* use);

}  // namespace cleave
