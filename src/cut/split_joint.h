// Splits a joint graph into forward and backward, given a choice for each forward value.
#pragma once
#include <functional>
#include <string>

#include "cut/joint_view.h"
#include "cut/partition.h"

namespace cleave {

// What happens to a value that depends on no tangent and that the backward needs: the forward
// returns it, or the backward computes it. Placeholders are always saved.
enum class Keep : uint8_t { save, recompute };

struct KeepChoice {
  Keep keep = Keep::save;
  std::string why;  // reported after the name of the reader; may be empty
};

// Starting from the nodes that read tangents, each value that is read of the halves `forward` and
// `either` is saved, or computed from its operands, as `choose` says. `choose` is called once for
// each value that is reached, so values that the backward doesn't need are never saved. A call that
// the backward computes is placed before its first reader there; it counts as recomputed if the
// forward computes it too. Symbols whose values the backward needs are saved as symints.
Result<Partition> split_joint(const JointView& joint,
                              const std::function<KeepChoice(ValueId)>& choose);

}  // namespace cleave
