// Random tensors of a training step.
#include "cleave/random.h"

#include "trace/record.h"

namespace cleave {
namespace {

Tensor drawn(const char* name, const char* op, const Tensor& self, Location at) {
  trace::require_defined(name, "self", self, at);
  if (!is_floating(self.dtype()))
    trace::refuse(at, "{}: self is {}, expected a floating dtype", name, self.type_text());
  const trace::RecordingPtr r = trace::common_recording(name, {self}, at);
  if (r->is_free())
    trace::refuse(at, "{}: self belongs to no program yet, so it has no random numbers", name);
  if (r->mode() == trace::Mode::evaluation)
    trace::refuse(at, "{}: {} draws no random numbers; give them as an input", name, r->what());
  return trace::record1(
      op, {trace::Access::tensor(r, r->rng())},
      {{"size", self.sizes()}, {"dtype", self.dtype()}, {"stream", r->next_stream()}}, at);
}

}  // namespace

Tensor rand_like(const Tensor& self, Location at) { return drawn("rand_like", "rand", self, at); }
Tensor randn_like(const Tensor& self, Location at) {
  return drawn("randn_like", "randn", self, at);
}

}  // namespace cleave
