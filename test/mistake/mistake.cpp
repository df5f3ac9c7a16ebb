#include "test/mistake/mistake.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "test/emulated.h"

namespace cleave::mistake {

std::string tmp(const std::string& name) {
  struct Folder {
    std::string path = testing::TempDir() + fmt::format("cleave_mistakes_{}/", getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path + name;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

namespace {

// The first line from the one that begins with `begin` on that ends with `end`.
int line_before(const std::string& file, const std::string& begin, const std::string& end) {
  std::ifstream in(file);
  std::string line;
  bool found = false;
  for (int number = 1; std::getline(in, line); ++number) {
    found |= line.starts_with(begin);
    if (found && line.ends_with(end)) return number;
  }
  ADD_FAILURE() << file << " has no " << begin;
  return 0;
}

// "FILE:@47" as "FILE:2", where the code that is shown begins behind line 45.
std::string counted_from(std::string text, const std::string& mark, int before) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
    const size_t begin = at + mark.size(), end = text.find_first_not_of("0123456789", begin);
    const int line = std::stoi(text.substr(begin, end - begin)) - before;
    text.replace(begin - 1, end - begin + 1, std::to_string(line));
  }
  return text;
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
    if (e.kind() == ErrorKind::unsupported) text = "(unsupported) " + text;
  } catch (const std::exception& e) { text = std::string("(another exception) ") + e.what(); }
  const std::string warned = testing::internal::GetCapturedStderr();
  if (text.empty()) text = warned.empty() ? "nothing" : warned.substr(0, warned.size() - 1);
  const std::string base = file.substr(file.rfind('/') + 1);
  text = replaced(replaced(text, file + ":", "program.cpp:@"), base + ":", "program.cpp:@");
  text = replaced(text, tmp(""), "TMP/");
  text = counted_from(std::move(text), "program.cpp:@",
                      line_before(file, "MISTAKE(" + name + ",", ") {"));
  // The Mlp's own lines.
  const std::string own = __FILE__, header = own.substr(0, own.size() - 3) + "h";
  const size_t at = text.find("mistake.h:");
  if (at == std::string::npos) return text;
  const size_t space = text.rfind(' ', at), begin = space == std::string::npos ? 0 : space + 1;
  text.replace(begin, at + 10 - begin, "mlp.h:@");
  return counted_from(std::move(text), "mlp.h:@", line_before(header, "struct Mlp ", "{") - 1);
}

TrainStep mlp_step(const Mlp& model, const TrainOptions& options, Location at) {
  return train_step(
      model, [model](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
      optim::SGD({.lr = 0.1}), {{"x", f32, {4, 2}}, {"y", f32, {4, 1}}}, options, {}, at);
}

void command(const std::string& line) {
  const std::filesystem::path folder = tmp("");
  const auto bin = test::command_folder();
  std::ofstream(folder / "model.clv")
      << "graph @main(%s0: symint range(1, 64), %x: input f32[s0,4], %w: param f32[8,4] grad) {\n"
         "  %t = permute(%w; dims=[1,0])\n  %y = mm(%x, %t)\n  return %y\n}\n";
  std::ofstream(folder / "typo.clv")
      << "graph @main(%x: input f32[4]) {\n  %y = rleu(%x)\n  return %y\n}\n";
  std::ofstream(folder / "undefined.clv")
      << "graph @main(%x: input f32[4]) {\n  %y = relu(%x)\n  return %z\n}\n";
  save_tensors((folder / "x.safetensors").string(), {{"x", HostTensor(f32, {2, 3})}});
  std::FILE* const pipe = popen(("cd '" + folder.string() + "' && PATH='" + bin.string() +
                                 "':$PATH && " + line + " 2>&1 >/dev/null")
                                    .c_str(),
                                "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = WEXITSTATUS(pclose(pipe));
  if (!text.empty()) text.pop_back();
  throw Error(status == 1   ? ErrorKind::user
              : status == 2 ? ErrorKind::unsupported
                            : ErrorKind::bug,
              text);
}

}  // namespace cleave::mistake
