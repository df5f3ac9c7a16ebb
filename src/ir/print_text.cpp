// Appends sizes, types and attribute values to a text.
#include <charconv>

#include "ir/print.h"

namespace cleave {

namespace {

void append_shape(std::string& out, const Shape& s, const char* brackets) {
  out += brackets[0];
  for (size_t i = 0; i < s.size(); ++i) {
    if (i) out += ',';
    append_text(out, s[i]);
  }
  out += brackets[1];
}

}  // namespace

void append_text(std::string& out, const Dim& d) {
  if (!d.is_const()) {
    out += d.text();
    return;
  }
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, d.value()).ptr);
}

void append_text(std::string& out, const Type& t) {
  if (t.is_none) {
    out += "none";
    return;
  }
  out += name_of(t.dtype);
  append_shape(out, t.shape, "[]");
  if (t.strides) append_shape(out, *t.strides, "{}");
  if (t.device.kind == DeviceKind::cuda) out += fmt::format("@cuda:{}", t.device.index);
}

void append_text(std::string& out, const AttrValue& v) {
  if (const Dim* d = v.get<Dim>()) {
    append_text(out, *d);
  } else if (const AttrList* list = v.get<AttrList>()) {
    out += '[';
    for (size_t i = 0; i < list->size(); ++i) {
      if (i) out += ',';
      append_text(out, (*list)[i]);
    }
    out += ']';
  } else {
    out += v.text();
  }
}

}  // namespace cleave
