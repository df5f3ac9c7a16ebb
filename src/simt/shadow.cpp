#include "simt/shadow.h"

namespace cleave::simt {
namespace {

bool is_same_thread(const ThreadPlace& a, const ThreadPlace& b) {
  return a.block == b.block && a.thread == b.thread;
}

// Whether what `a` did comes before what `b` does.
bool is_before(const ThreadPlace& a, const ThreadPlace& b) {
  return is_same_thread(a, b) || (a.block == b.block && a.team == b.team && a.waits < b.waits);
}

}  // namespace

std::optional<ThreadPlace> Shadow::read(const void* address, const ThreadPlace& by) {
  Element& e = elements_[address];
  if (e.was_written && !is_before(e.writer, by)) return e.writer;
  if (e.was_read && !is_before(e.reader, by)) e.other = e.reader, e.has_other = true;
  e.was_read = true;
  e.reader = by;
  return std::nullopt;
}

std::optional<ThreadPlace> Shadow::write(const void* address, const ThreadPlace& by) {
  Element& e = elements_[address];
  if (e.was_written && !is_before(e.writer, by)) return e.writer;
  if (e.was_read && !is_before(e.reader, by)) return e.reader;
  if (e.has_other && !is_before(e.other, by)) return e.other;
  e.was_written = true;
  e.writer = by;
  e.was_read = e.has_other = false;
  return std::nullopt;
}

}  // namespace cleave::simt
