// fuzz_misuse [N [SEED [ACTIONS]]]: N random sequences of calls of the public API from SEED on, of
// ACTIONS calls each (world.h). Each line of a sequence that crashes stands in the file
// misuse.log of the folder that the first line names. Exit status: 0 nothing but errors came out,
// 1 something did.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "test/fuzz/misuse/world.h"
#include "test/sample/program/main.h"

namespace cleave::misuse {
namespace {

int run_all(const random::Arguments& arguments) {
  const uint64_t count = arguments.number(1, "N", 1000), first = arguments.number(2, "SEED", 0);
  const auto actions = static_cast<int>(arguments.number(3, "ACTIONS", 60));
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_misuse_{}", getpid());
  std::filesystem::create_directories(folder);
  random::report(fmt::format("fuzz_misuse: files in {}\n", folder.string()));
  int64_t wrong = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      std::filesystem::remove_all(entry);
    std::ofstream log(folder / "misuse.log");
    log << "seed " << seed << std::endl;
    const std::string found = run(seed, actions, folder.string(),
                                  [&](const std::string& line) { log << line << std::endl; });
    if (found.empty()) continue;
    ++wrong;
    random::report(fmt::format("seed {}: {}\n", seed, found));
  }
  std::filesystem::remove_all(folder);
  random::report(
      fmt::format("fuzz_misuse: {} sequences of {} calls, {} wrong\n", count, actions, wrong));
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::misuse

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::misuse::run_all);
}
