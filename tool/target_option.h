// --target T: the processor that a program is compiled for.
#pragma once
#include "base/target.h"
#include "base/target_file.h"
#include "tool/option_list.h"

namespace cleave::tool {

struct TargetOption {
  std::string text = "native";

  void add_to(OptionList& options) {
    options.option("--target", text,
                   "native, x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), x86-64-v4-bf16, "
                   "x86-64-v4-amx, aarch64, cuda, sm_90 and others, or a file of cleave tune");
  }
  bool is_given() const { return text != "native"; }
  // Error (user): an unknown word or invalid file.
  Result<Target> target() const { return target_of(text); }
  // For commands that run the program. Error (unsupported): this machine can't.
  Result<Target> runnable() const {
    CLEAVE_TRY(const Target found, target());
    CLEAVE_CHECK(check_runs_here(found));
    return found;
  }
};

}  // namespace cleave::tool
