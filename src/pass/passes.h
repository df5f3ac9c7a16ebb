// The passes by name: each is in the file of its name in pre_grad/, joint/ or post_grad/, its
// golden beside it.
#pragma once
#include "pass/pass.h"

namespace cleave {

// pre_grad
Pass fuse_attention();

// joint
Pass fold_permute();

}  // namespace cleave
