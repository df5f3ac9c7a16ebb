// Accuracy, and files of scalars.
#include "cleave/metrics.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <system_error>

#include "base/result.h"
#include "data/event_file.h"

namespace cleave {

double accuracy(const HostTensor& scores, const HostTensor& classes, int64_t top) {
  if (scores.rank() != 2 || classes.rank() != 1 || scores.shape()[0] != classes.shape()[0] ||
      is_floating(classes.dtype()))
    throw_failure(
        user_error("accuracy: got scores {} and classes {}, expected [rows,classes] and "
                   "integers [rows]",
                   scores.type_text(), classes.type_text()));
  const int64_t rows = scores.shape()[0], width = scores.shape()[1];
  if (top < 1 || top > width)
    throw_failure(user_error("accuracy: top is {}, expected a number in [1, {}]", top, width));
  if (rows == 0) return std::numeric_limits<double>::quiet_NaN();
  int64_t right = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const auto c = static_cast<int64_t>(classes.number(r));
    if (c < 0 || c >= width)
      throw_failure(user_error("accuracy: class {} of row {} is outside [0, {})", c, r, width));
    const double own = scores.number(r * width + c);
    int64_t higher = 0;
    for (int64_t k = 0; k < width; ++k) {
      const double other = scores.number(r * width + k);
      higher += other > own || (other == own && k < c);
    }
    right += own == own && higher < top;
  }
  return static_cast<double>(right) / static_cast<double>(rows);
}

struct ScalarLog::State {
  using Line = std::function<std::string(int64_t, const std::string&, double)>;
  State(std::string at, const char* mode, Line line)
      : path(std::move(at)), file(std::fopen(path.c_str(), mode)), line_of(std::move(line)) {
    if (!file) fail();
  }
  ~State() {
    if (file) std::fclose(file);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void write(const std::string& text) const {
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
      fail();
  }
  [[noreturn]] void fail() const {
    throw_failure(user_error("{}: cannot write: {}", path, std::generic_category().message(errno)));
  }

  std::string path;
  std::FILE* file = nullptr;
  Line line_of;
};

ScalarLog::ScalarLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
ScalarLog::ScalarLog(ScalarLog&&) noexcept = default;
ScalarLog& ScalarLog::operator=(ScalarLog&&) noexcept = default;
ScalarLog::~ScalarLog() = default;

namespace {

// A field of a line: in quotes where it has what ends a field or a line (RFC 4180).
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

ScalarLog ScalarLog::csv(const std::string& path) {
  auto state =
      std::make_unique<State>(path, "ae", [](int64_t step, const std::string& name, double value) {
        return fmt::format("{},{},{}\n", step, csv_field(name), value);
      });
  if (std::fseek(state->file, 0, SEEK_END) == 0 && std::ftell(state->file) == 0)
    state->write("step,name,value\n");
  return ScalarLog(std::move(state));
}

ScalarLog ScalarLog::tensorboard(const std::string& folder) {
  if (folder.empty()) throw_failure(user_error("ScalarLog: tensorboard: the folder is empty"));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_failure(user_error("{}: cannot make the folder: {}", folder, error.message()));
  const auto now = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  };
  char host[256] = "host";
  gethostname(host, sizeof(host) - 1);
  std::string path;
  for (int k = 0; path.empty() || std::filesystem::exists(path); ++k)
    path = fmt::format("{}/events.out.tfevents.{}.{}.{}.{}", folder, static_cast<int64_t>(now()),
                       host, getpid(), k);
  auto state = std::make_unique<State>(path, "wbe",
                                       [now](int64_t step, const std::string& name, double value) {
                                         return data::scalar_record(now(), step, name, value);
                                       });
  state->write(data::version_record(now()));
  return ScalarLog(std::move(state));
}

void ScalarLog::add(int64_t step, const std::string& name, double value) {
  if (!state_) throw_failure(user_error("ScalarLog: it was moved from"));
  state_->write(state_->line_of(step, name, value));
}

}  // namespace cleave
