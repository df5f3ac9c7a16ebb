// The passes by name: each is in the file of its name in pre_grad/, joint/ or post_grad/, its
// golden beside it.
#pragma once
#include "pass/pass.h"

namespace cleave {

// joint
Pass bmm_to_mm();
Pass cat_mm();
Pass decompose_mm();
Pass drop_noop();
Pass fold_algebra();
Pass fold_constant();
Pass fold_convert();
Pass fold_cumsum();
Pass fold_permute();
Pass fold_view();
Pass fuse_addmm();
Pass join_mm();
Pass reuse_extremum();
Pass scatter_to_where();
Pass unfuse_addmm();

}  // namespace cleave
