#include "compile/public_options.h"

#include <algorithm>

namespace cleave {
namespace {

PassOptions pass_options(const Options& options) {
  PassOptions passes{.strict = options.strict,
                     .off = options.passes_off,
                     .on = options.passes_on,
                     .rules = options.rules};
  passes.none = std::erase(passes.off, "all") > 0;
  return passes;
}

}  // namespace

CompileOptions compile_options(const Options& options) {
  CompileOptions out;
  out.autocast = options.autocast;
  out.target = options.target;
  out.compiler = options.compiler;
  out.dump_dir = options.dump_dir;
  out.memory_budget = options.memory_budget;
  out.passes = pass_options(options);
  return out;
}

}  // namespace cleave
