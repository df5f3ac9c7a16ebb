// Watches a program while it is compiled, stage by stage.
//
//   struct Growth : CompileObserver {
//     void before(std::string_view, const StageText& text) override { lines = count(text()); }
//     void after(std::string_view stage, const StageText& text) override {
//       std::cout << stage << ": " << count(text()) - lines << " lines more\n";
//     }
//     ...
//   };
//   compile(model, f, inputs, {.observers = {std::make_shared<Growth>()}});
//
// Stages have the names and the order of Report::stages. What a stage leaves is what the next one
// begins with. Up to `fuse` the text is the graph (doc/ir.md), then its kernels, from `emit` on the
// units of C text, or nothing where kernels are interpreted.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/error.h"

namespace cleave {

// The program before or after a stage, as text that is made when it is asked for: each time anew,
// and only while the observer is called.
class StageText {
 public:
  struct File {
    std::string name;  // what a file of it would be called behind the stage's: "clv", "unit_0.c"
    std::string text;
  };
  explicit StageText(std::function<std::vector<File>()> make) : make_(std::move(make)) {}

  std::vector<File> files() const { return make_(); }
  // All of them, one behind the other.
  std::string operator()() const {
    std::string out;
    for (const File& file : files()) out += file.text;
    return out;
  }

 private:
  std::function<std::vector<File>()> make_;
};

// Both are called on the thread that compiles; programs of one step or function are compiled one
// after the other, those of others at the same time if the host program does so. What one throws
// ends the compilation there, is what compile(), train_step() or the run that needed the program
// throws, the same object, and leaves everything as it was before: no program, nothing in a cache
// that the stage `build` hasn't completed.
class CLEAVE_API CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  virtual void before(std::string_view /*stage*/, const StageText& /*text*/) {}
  virtual void after(std::string_view /*stage*/, const StageText& /*text*/) {}
};

}  // namespace cleave
