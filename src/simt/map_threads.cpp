#include "simt/map_threads.h"

#include "schedule/next_variable.h"
#include "simt/merge_phases.h"
#include "simt/phase_writer.h"

namespace cleave::simt {

Kernel map_threads(const loop::Kernel& kernel, const MapSizes& sizes,
                   const std::optional<BufferPairs>& shared) {
  if (!kernel.is_scheduled) throw_bug("simt: {} is not scheduled", kernel.name);
  Kernel out{.name = kernel.name, .buffers = {}, .scalars = kernel.scalars, .phases = {}};
  for (const loop::Buffer& b : kernel.buffers) {
    Buffer made;
    static_cast<loop::Buffer&>(made) = b;
    out.buffers.push_back(std::move(made));
  }
  PhaseWriter writer(kernel, out, schedule::next_variable(kernel.body), sizes, shared);
  loop::Block serial;
  const auto flush = [&] {
    if (!serial.empty()) writer.serial(std::exchange(serial, {}));
  };
  for (const loop::Stmt& s : kernel.body) {
    auto* f = std::get_if<loop::For>(&s.node);
    if (f && f->kind == loop::ForKind::parallel) {
      flush();
      writer.parallel(*f);
    } else {
      serial.push_back(s);
    }
  }
  flush();
  merge_phases(out);
  return out;
}

}  // namespace cleave::simt
