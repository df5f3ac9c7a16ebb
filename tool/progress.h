// A progress bar on stderr, if that is a terminal.
//
//   [#########...........]  450/1000  loss 1.9321  21,300 tokens/s  0:24 left
#pragma once
#include <cstdint>
#include <string>

namespace cleave::tool {

class Progress {
 public:
  explicit Progress(int64_t total);
  ~Progress();
  void show(int64_t done, const std::string& text);
  void clear();  // to be called before other output

 private:
  int64_t total_;
  bool terminal_;
  bool drawn_ = false;
  double last_ = 0;
};

// 83.4 as 1:23.
std::string clock_text(double seconds);
// 1234567 as 1,234,567.
std::string grouped(int64_t n);

}  // namespace cleave::tool
