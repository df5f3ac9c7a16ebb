// Parts of a kernel's text, for messages; print(kernel) is in kernel.h.
#pragma once
#include "loop/kernel.h"

namespace cleave::loop {

// The statement's first line, without indentation: "for i in 64 parallel {".
std::string first_line(const Stmt& s, const Kernel& k);
std::string print(const Expr& e, const Kernel& k);

}  // namespace cleave::loop
