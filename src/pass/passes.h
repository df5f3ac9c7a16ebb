// The passes by name: each is in the file of its name in pre_grad/, joint/ or post_grad/, its
// golden beside it.
#pragma once
#include "pass/pass.h"

namespace cleave {

// pre_grad
Pass fuse_attention();

// joint
Pass drop_attention_weights();
Pass fold_permute();
Pass fuse_attention_joint();
Pass join_softmax_backward();

// post_grad
Pass bmm_to_mm();
Pass fold_cumsum();
Pass fuse_addmm();
Pass scatter_to_where();

}  // namespace cleave
