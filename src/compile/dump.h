// Writes what each stage changed to a folder: NN_stage.clv, NN_stage.loops, NN_unit_K.c, where NN
// counts from the stage verify on.
#pragma once
#include <filesystem>

#include "compile/stage_text.h"
#include "compile/stages.h"

namespace cleave {

class Dump {
 public:
  // Empty: nothing is written.
  explicit Dump(const std::string& folder) : folder_(folder) {}
  // Makes the folder. Errors (user): those of the file system, of `after` too.
  Status begin() const;
  Status after(Stage stage, const StageText& text);

 private:
  const std::filesystem::path folder_;
  StageFiles last_;
};

}  // namespace cleave
