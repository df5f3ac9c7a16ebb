// batch_linear (pre_grad/batch_linear.cpp) on forward and backward in one graph: products that
// gradients add form groups too.
//
//   mm(dy, permute(v)), mm(dz, permute(w)), ...  ->  unbind(bmm(stack([dy, dz, ...]), ...))
//
// PyTorch: batch_linear_post_grad of fx_passes/group_batch_fusion.py. Runs only on request: all
// operands are copied.
#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {

Pass batch_linear_post_grad() {
  return batch_pass("batch_linear_post_grad",
                    "independent matrix products of one shape become one, those of gradients too",
                    linear_kind(), true);
}

}  // namespace cleave
