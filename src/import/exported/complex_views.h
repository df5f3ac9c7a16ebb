// Which operators show the memory of a complex tensor, as views of its parts.
#pragma once
#include "import/exported/views.h"

namespace cleave::exported {

bool is_complex_view(std::string_view name);
// The views that the call makes of `self`, whose parts it is if it is complex: view_as_complex
// views a real one. Sharing is as in views_of.
Views complex_views_of(std::string_view name, Call& call, ValueId self, bool is_contiguous);

}  // namespace cleave::exported
