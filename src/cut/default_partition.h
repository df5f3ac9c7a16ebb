// The seed system's default partition: the forward runs as it was written, and the backward gets
// every forward value that it reads.
//
//   forward     what results and updates need, and calls that stand before the last of those and
//               read no tangent; the others are the backward's
//   saved       each forward value that the backward reads; a value whose sizes alone are needed is
//               not read (sizes are symints, saved as such)
//   recomputed  calls tagged must_recompute or prefer_recompute, from the values they read, which
//               are saved where they have no such tag
//   boundary    where a recomputed call is read by a recomputed call of a later checkpointed region
//               (a greater ac number), it is saved: regions in a row keep what is between them
//
// Source: default_partition and cleanup_recompute_tags, torch/_functorch/partitioners.py 2.13.
#pragma once
#include "cut/partition.h"

namespace cleave {

// `joint` is what make_joint gives. Errors (user): no gradient, or a result that needs a tangent.
Result<Partition> default_partition(const Graph& joint);

}  // namespace cleave
