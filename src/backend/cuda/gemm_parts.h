// A large product of halves with sizes that aren't whole vectors of 16 bytes, as products of which
// the large one's are:
//
//   logits[16384, 30522] = x[16384, 768] w[768, 30522]
//     columns 0 to 30519, then columns 30520 and 30521
//
// cuBLASLt's algorithms for such sizes take up to three times as long, wherever lines begin: the
// one above ran at 242 TFLOP/s on an H200, where others run at 690. Vocabularies have such sizes.
#pragma once
#include <vector>

#include "library/gemm_spec.h"

namespace cleave::cuda {

struct GemmPartLimits {
  int64_t flops = int64_t{1} << 30;  // of the product
  int64_t size = 512;                // that is cut
};

struct GemmPart {
  GemmSpec spec;
  // Where its operands begin in those of the product, in elements.
  int64_t a = 0, b = 0, c_in = 0, c = 0;
  bool adds = false;  // to C as the parts before it left it: that is its C_in
};

// In the order in which they are to be computed; the product itself where it isn't cut. Sums over k
// are cut where there is no C_in: what two of its parts add up is rounded twice.
std::vector<GemmPart> parts_of(const GemmSpec& spec, const GemmPartLimits& limits = {});

}  // namespace cleave::cuda
