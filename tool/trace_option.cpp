#include "tool/trace_option.h"

#include "inspect/timeline_drawing.h"

namespace cleave::tool {

Status TraceOption::write() const {
  if (!timeline_) return {};
  if (!path.ends_with(".svg")) return write_text(path, timeline_->text());
  const std::vector<Timeline::Span> spans = timeline_->spans();
  std::string drawing;
  for (const TimelinePart& part : parts_of(spans))
    drawing = timeline_drawing(part.title, spans, part.begin_ns, part.end_ns);
  if (drawing.empty()) return user_error("--trace {}: nothing ran", path);
  return write_text(path, drawing);
}

}  // namespace cleave::tool
