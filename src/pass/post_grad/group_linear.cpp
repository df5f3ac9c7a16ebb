// Puts independent matrix products of any shapes next to each other, so that the library runs them
// as one job (lower/join_products.h).
//
//   y = mm(a, v)             y = mm(a, v)
//   p = exp(y)               z = addmm(c, b, w)
//   z = addmm(c, b, w)  ->   p = exp(y)
//   q = exp(z)               q = exp(z)                              pre_grad/neighbours.h
//
// PyTorch: GroupLinearFusion of fx_passes/group_batch_fusion.py, which calls fbgemm's gmm, and so
// wants even sizes, no factors, and either biases or none in a group. No operand is copied; bits
// stay. Values may live longer, so it runs only on request.
#include <algorithm>

#include "pass/pass_setting.h"
#include "pass/passes.h"
#include "pass/pre_grad/neighbours.h"

namespace cleave {
namespace {

constexpr const char* max_size = "max_fuse_tensor_size_group_linear";

bool fits(const Type& t, int64_t most) {
  return t.is_static() &&
         std::ranges::all_of(static_shape(t), [&](int64_t d) { return d <= most; });
}

GroupKey make_key(const std::vector<PassSetting>& settings) {
  return [most = setting(settings, max_size)](const OpView& call) -> std::string {
    const int first = call.name() == "mm" ? 0 : call.name() == "addmm" ? 1 : -1;
    if (first < 0 || !fits(call.in_type(first), most) || !fits(call.in_type(first + 1), most))
      return "";
    return "linear";
  };
}

}  // namespace

Pass group_linear() {
  return neighbour_pass("group_linear",
                        "independent matrix products of any shapes become neighbours",
                        {{max_size, 4096, 1, "of the dims of both operands, at most"}}, make_key);
}

}  // namespace cleave
