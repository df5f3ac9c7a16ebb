// grad: appends the reverse sweep to the graph that is recorded.
#include "cleave/grad.h"
#include "grad/grad.h"
#include "trace/record.h"

namespace cleave {

using trace::Access;
using trace::RecordingPtr;
using trace::refuse;

namespace {

// What the reverse sweep starts from, in y's type.
Tensor cotangent_of(const Tensor& y, const GradOptions& options, Location at) {
  if (options.cotangent.defined()) return options.cotangent;
  if (y.numel() != 1)
    refuse(at,
           "grad: y is {}, expected a floating Tensor of one element: take its sum(), or give "
           "GradOptions::cotangent",
           y.type_text());
  return ones_like(y, at);
}

}  // namespace

Tensors grad(const Tensor& y, const Tensors& wrt, const GradOptions& options, Location at) {
  trace::require_defined("grad", "y", y, at);
  for (const Tensor& t : wrt) trace::require_defined("grad", "one of wrt", t, at);
  if (!is_floating(y.dtype())) refuse(at, "grad: y is {}, expected floats", y.type_text());
  const Tensor cotangent = cotangent_of(y, options, at);
  const RecordingPtr r = trace::common_recording("grad", {y, cotangent, wrt}, at);
  if (const RecordingPtr& own = Access::recording(y); own && own != r && !own->is_free())
    refuse(at, "grad: y belongs to {}, outside of {}; call grad() there, and use its results here",
           own->what(), r->what());
  GradRequest request;
  request.outputs = {r->value_of(y, at)};
  request.cotangents = {r->value_of(cotangent, at)};
  for (const Tensor& t : wrt) request.wrt.push_back(r->value_of(t, at));
  Graph& g = r->graph();
  Result<Values> gradients = add_gradients(g, r->ops(), request);
  if (!gradients.ok()) trace::throw_at(at, std::move(gradients).failure().within("grad"));
  Tensors out;
  for (size_t k = 0; k < wrt.size(); ++k) {
    const ValueId v = (*gradients)[k];
    if (!v.valid() && !options.allow_unused)
      refuse(at,
             "grad: y doesn't depend on %{}, number {} of wrt (GradOptions::allow_unused gives "
             "zeros)",
             g.name(request.wrt[k]), k);
    out.push_back(v.valid() ? Access::tensor(r, v)
                            : zeros_like(Access::tensor(r, request.wrt[k]), at));
  }
  return out;
}

}  // namespace cleave
