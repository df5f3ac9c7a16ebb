// PyTorch's default partition: the forward runs as it was written, and the backward gets every
// forward value that it reads.
//
//   forward     calls that results and updates need, and calls before the last of those that read
//               no tangent; all others belong to the backward
//   saved       each forward value that the backward reads; a value of which only the sizes are
//               needed isn't read (sizes are symints and saved as such)
//   recomputed  calls tagged must_recompute or prefer_recompute, from the values they read, which
//               are saved where they have no such tag
//   boundary    a recomputed call that is read by a recomputed call of a later checkpointed region
//               (a greater ac number) is saved: values between consecutive regions are kept
//
// Source: default_partition and cleanup_recompute_tags, torch/_functorch/partitioners.py 2.13.
#pragma once
#include "cut/partition.h"

namespace cleave {

// `joint` is what make_joint gives. Errors (user): no gradient, or a result that needs a tangent.
Result<Partition> default_partition(const Graph& joint);

}  // namespace cleave
