#include "test/mistake/mistake.h"


namespace cleave::mistake {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

namespace {

// The line before the body of an entry.
int line_before(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  bool found = false;
  for (int number = 1; std::getline(in, line); ++number) {
    found |= line.starts_with("MISTAKE(" + name + ",");
    if (found && line.ends_with(") {")) return number;
  }
  ADD_FAILURE() << file << " has no MISTAKE(" << name;
  return 0;
}

}  // namespace

std::string said(const std::string& file, const std::string& name, void (*body)()) {
  std::string text;
  testing::internal::CaptureStderr();  // of warnings
  try {
    body();
  } catch (const Error& e) {
    text = e.what();
    if (e.kind() == ErrorKind::bug) text = "(a defect) " + text;
  } catch (const std::exception& e) { text = std::string("(another exception) ") + e.what(); }
  const std::string warned = testing::internal::GetCapturedStderr();
  if (text.empty()) text = warned.empty() ? "nothing" : warned.substr(0, warned.size() - 1);
  text = replaced(text, testing::TempDir(), "TMP/");
  const std::string base = file.substr(file.rfind('/') + 1);
  text = replaced(replaced(text, file + ":", "program.cpp:@"), base + ":", "program.cpp:@");
  const int before = line_before(file, name);
  for (size_t at = text.find("cpp:@"); at != std::string::npos; at = text.find("cpp:@")) {
    const size_t begin = at + 5, end = text.find_first_not_of("0123456789", begin);
    const int line = std::stoi(text.substr(begin, end - begin)) - before;
    text.replace(begin - 1, end - begin + 1, std::to_string(line));
  }
  return text;
}

TrainStep mlp_step(const Mlp& model, const TrainOptions& options, const Store& store) {
  return train_step(model, [model](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
                    optim::SGD({.lr = 0.1}), {{"x", f32, {4, 2}}, {"y", f32, {4, 1}}}, options,
                    store);
}

}  // namespace cleave::mistake
