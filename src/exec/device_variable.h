// Variables in the memory of a device.
//
//   the host writes     set(), load_checkpoint, data()     copied in with the next run
//   the device writes   a run that updates it              copied back when the host reads it
//
// A Variable has one such copy, which stays where it is: programs for one device share it. Of one
// for another device the copy moves, through the host.
#pragma once
#include "backend/device_memory.h"
#include "exec/executable.h"
#include "trace/variable_state.h"

namespace cleave {

// Where its elements lie in that memory, with the values that it has now. Errors: those of
// DeviceMemory.
Result<void*> on_device(trace::VariableState& variable,
                        const std::shared_ptr<DeviceMemory>& memory);

// Whether it lies there already, with whatever values.
bool has_place(trace::VariableState& variable, const std::shared_ptr<DeviceMemory>& memory);

// Binds a placeholder to a Variable, where the instance's operands lie, unless it is `bound` there.
// Returns the address.
Result<void*> bind_variable(Instance& instance, size_t placeholder, trace::VariableState& variable,
                            const void* bound = nullptr);

}  // namespace cleave
