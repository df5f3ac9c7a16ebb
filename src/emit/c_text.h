// Lines of C with their indentation.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace cleave::emit {

class CText {
 public:
  void line(const std::string& s) { text_ += std::string(2 * depth_, ' ') + s + '\n'; }
  void lines(const std::vector<std::string>& list) {
    for (const std::string& s : list) line(s);
  }
  void open(const std::string& head) {
    line(head.empty() ? "{" : head + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  // The position of the next line, and inserting lines at an earlier position.
  size_t here() const { return text_.size(); }
  void insert(size_t at, const std::vector<std::string>& list) {
    std::string front;
    for (const std::string& s : list) front += std::string(2 * depth_, ' ') + s + '\n';
    text_.insert(at, front);
  }
  // Returns the text so far and starts an empty one.
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
  size_t depth_ = 1;
};

}  // namespace cleave::emit
