// Means, accuracy, early stopping, and files of scalars, read back byte by byte.
// tests: metrics.cpp event_file.cpp
#include "cleave/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/result.h"
#include "cleave/progress.h"
#include "data/event_file.h"

namespace cleave {
namespace {

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return (std::ostringstream() << file.rdbuf()).str();
}

TEST(Metrics, a_mean_by_weights) {
  RunningMean m;
  EXPECT_TRUE(std::isnan(m.value()));
  m.add(1, 3);
  m.add(5);
  EXPECT_EQ(m.value(), 2);
  m.reset();
  m.add(7);
  EXPECT_EQ(m.value(), 7);
}

TEST(Metrics, accuracy_of_scores) {
  const HostTensor scores = HostTensor::from<float>({3, 1, 2, 1, 1, 0, NAN, 2, 1}, {3, 3});
  const auto of = [&](std::vector<int64_t> classes, int64_t top) {
    return accuracy(scores, HostTensor::from<int64_t>(classes), top);
  };
  EXPECT_EQ(of({0, 0, 1}, 1), 1);
  EXPECT_NEAR(of({2, 1, 0}, 1), 0, 0);
  EXPECT_NEAR(of({2, 1, 0}, 2), 2.0 / 3, 1e-15);  // a score that is no number is never right
  EXPECT_EQ(message([&] { of({0, 0, 3}, 1); }), "accuracy: class 3 of row 2 is outside [0, 3)");
  EXPECT_EQ(message([&] { of({0, 0, 0}, 4); }), "accuracy: top is 4, expected a number in [1, 3]");
  EXPECT_EQ(message([&] { of({0}, 1); }),
            "accuracy: got scores f32[3,3] and classes i64[1], expected [rows,classes] and "
            "integers [rows]");
}

TEST(Metrics, stopping_when_nothing_gains) {
  EarlyStopping stopping({.patience = 2, .min_delta = 0.1});
  EXPECT_FALSE(stopping.should_stop(NAN));
  EXPECT_FALSE(stopping.is_best());
  EXPECT_FALSE(stopping.should_stop(3));
  EXPECT_TRUE(stopping.is_best());
  EXPECT_FALSE(stopping.should_stop(2.95));
  EXPECT_FALSE(stopping.should_stop(2.8));
  EXPECT_EQ(stopping.best(), 2.8);
  EXPECT_FALSE(stopping.should_stop(NAN));
  EXPECT_TRUE(stopping.should_stop(2.8));
  EarlyStopping highest({.patience = 1, .maximize = true});
  EXPECT_FALSE(highest.should_stop(0.5));
  EXPECT_FALSE(highest.should_stop(0.6));
  EXPECT_TRUE(highest.should_stop(0.55));
}

TEST(Metrics, scalars_as_text) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("cleave_scalars_{}.csv", getpid());
  std::filesystem::remove(path);
  ScalarLog::csv(path.string()).add(1, "loss", 0.5);
  ScalarLog::csv(path.string()).add(2, "loss", 0.1);
  EXPECT_EQ(contents(path), "step,name,value\n1,loss,0.5\n2,loss,0.1\n");
  ScalarLog::csv(path.string()).add(3, "the \"best\", so far", 0.25);
  EXPECT_TRUE(contents(path).ends_with("0.1\n3,\"the \"\"best\"\", so far\",0.25\n"))
      << contents(path);
  std::filesystem::remove(path);
  EXPECT_NE(message([] {
              ScalarLog::csv("/no/such/folder/x.csv");
            }).find("/no/such/folder/x.csv: cannot write"),
            std::string::npos);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_EQ(message([] { ScalarLog::csv("/dev/full"); }),
              "/dev/full: cannot write: No space left on device");
  }
}

uint64_t number_at(const std::string& bytes, size_t at, size_t size) {
  uint64_t out = 0;
  std::memcpy(&out, bytes.data() + at, size);
  return out;
}

TEST(Metrics, records_of_tensorboard) {
  EXPECT_EQ(data::crc32c("123456789"), 0xe3069283u);  // RFC 3720, appendix B.4
  EXPECT_EQ(data::crc32c(std::string(32, '\0')), 0x8a9136aau);
  const std::string r = data::scalar_record(1.5, 300, "loss", 0.25);
  const uint64_t length = number_at(r, 0, 8);
  ASSERT_EQ(r.size(), length + 16);
  const auto masked = [](std::string_view bytes) {
    const uint32_t crc = data::crc32c(bytes);
    return static_cast<uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8u);
  };
  EXPECT_EQ(number_at(r, 8, 4), masked(r.substr(0, 8)));
  EXPECT_EQ(number_at(r, 12 + length, 4), masked(r.substr(12, length)));
  // 1: 1.5; 2: 300; 5: { 1: { 1: "loss", 2: 0.25 } }
  const std::string event(
      "\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e", 27);
  EXPECT_EQ(r.substr(12, length), event);
}

TEST(Metrics, a_folder_of_event_files) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_events_{}/a/b", getpid());
  {
    ScalarLog one = ScalarLog::tensorboard(folder.string()),
              two = ScalarLog::tensorboard(folder.string());
    one.add(1, "x", 2);
    two.add(1, "x", 3);
  }
  int files = 0;
  for (const auto& f : std::filesystem::directory_iterator(folder)) {
    ++files;
    EXPECT_TRUE(f.path().filename().string().starts_with("events.out.tfevents."));
    EXPECT_NE(contents(f.path()).find("brain.Event:2"), std::string::npos);
  }
  EXPECT_EQ(files, 2);
  std::filesystem::remove_all(folder.parent_path().parent_path());
}

TEST(Metrics, times) {
  EXPECT_EQ(clock_text(83.4), "1:23");
  EXPECT_EQ(clock_text(3661), "1:01:01");
}

TEST(ScalarLog, no_folder) {
  try {
    ScalarLog::tensorboard("");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "ScalarLog: tensorboard: the folder is empty");
  }
}

TEST(ScalarLog, moved_from) {
  ScalarLog from = ScalarLog::csv("/dev/null");
  const ScalarLog to = std::move(from);
  try {
    from.add(1, "loss", 2);
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "ScalarLog: it was moved from"); }
}

}  // namespace
}  // namespace cleave
