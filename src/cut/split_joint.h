// Makes the halves of a joint graph from a choice for each forward value.
#pragma once
#include <functional>
#include <string>

#include "cut/joint_view.h"
#include "cut/partition.h"

namespace cleave {

// What happens to a value that reads no tangent and that the backward needs: handed over by the
// forward, or computed in the backward. Placeholders are always saved.
enum class Keep : uint8_t { save, recompute };

struct KeepChoice {
  Keep keep = Keep::save;
  std::string why;  // beside who reads it; may be empty
};

// Starting from the nodes that read tangents, each value of the forward or of either half that is
// read is saved or computed from its operands, as `choose` says; choose is asked once for each
// value that is reached, so values that the backward doesn't need are never saved. A call that is
// computed in the backward stands in front of its first reader; it counts as recomputed when the
// forward computes it too. Symbols whose values the backward needs are saved as symints.
Result<Partition> split_joint(const JointView& joint,
                              const std::function<KeepChoice(ValueId)>& choose);

}  // namespace cleave
