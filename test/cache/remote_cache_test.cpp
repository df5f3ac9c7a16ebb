// A cache that machines share: over HTTP and in a folder, with one key and with another.
// tests: remote_place.cpp http.cpp
#include "cache/remote_cache.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cache/http.h"
#include "cache/memory_cache.h"
#include "test/cache/cache_fixture.h"
#include "test/cache/http_server.h"
#include "test/emulated.h"

namespace cleave::cache::test {
namespace {

UserKey key_of(int n) {
  UserKey key{};
  key[0] = static_cast<std::byte>(n);
  return key;
}

// A machine: its own memory, and the common place.
std::unique_ptr<RemoteCache> machine(const std::string& place, int key = 1) {
  return std::make_unique<RemoteCache>(std::make_shared<MemoryCache>(1 << 20),
                                       value_or_throw(open_remote_place(place)), key_of(key));
}

class Remote : public CacheFolder {
 protected:
  void SetUp() override {
    CacheFolder::SetUp();
    fs::create_directory(folder_);
  }
};

class RemoteOverHttp : public Remote {
 protected:
  void SetUp() override {
    Remote::SetUp();
    const auto http = Http::open();  // the packages of a cross build leave libcurl out
    if (!http.ok() && cleave::test::is_emulated()) GTEST_SKIP() << http.failure().message;
  }
};

void shares(const std::string& place) {
  const auto a = machine(place), b = machine(place), other = machine(place, 2);
  const std::vector<std::byte> large(100'000, std::byte{7});
  EXPECT_FALSE(a->read(unit, "k"));
  EXPECT_TRUE(a->write(unit, "k", bytes("value")).stored);
  EXPECT_TRUE(a->write(program, "k", large).stored);
  EXPECT_TRUE(a->write(unit, "empty", {}).stored);
  EXPECT_EQ(b->read(unit, "k"), bytes("value"));
  EXPECT_EQ(b->read(program, "k"), large);
  EXPECT_EQ(b->read(unit, "empty"), bytes(""));
  EXPECT_FALSE(b->read(unit, "other"));
  EXPECT_FALSE(other->read(unit, "k"));  // made with another key
  EXPECT_EQ(a->counts(), (Counts{.misses = 1, .writes = 3}));
  EXPECT_EQ(b->counts(), (Counts{.hits = 3, .misses = 1, .writes = 3}));
  EXPECT_EQ(other->counts(), (Counts{.misses = 1, .corrupt = 1}));
  for (const auto& m : {&a, &b, &other}) EXPECT_EQ((*m)->take_warning(), std::nullopt);
}

TEST_F(Remote, a_folder) { shares(folder_.string()); }

TEST_F(RemoteOverHttp, over_http) {
  HttpServer server;
  shares(server.url() + "/");
  for (const auto& [path, contents] : server.files())
    EXPECT_TRUE(path.starts_with("/ac/") || path.starts_with("/cas/")) << path;
  EXPECT_EQ(server.files().size(), 6u);
}

TEST_F(RemoteOverHttp, what_was_read_is_local_then) {
  HttpServer server;
  machine(server.url())->write(unit, "k", bytes("value"));
  const auto m = machine(server.url());
  EXPECT_EQ(m->read(unit, "k"), bytes("value"));
  server.stop();
  EXPECT_EQ(m->read(unit, "k"), bytes("value"));
  EXPECT_EQ(m->take_warning(), std::nullopt);
}

// Identities of compilers are files of one machine.
TEST_F(RemoteOverHttp, compilers_stay_at_home) {
  HttpServer server;
  const auto m = machine(server.url());
  EXPECT_TRUE(m->write(EntryKind::compiler, "k", bytes("clang")).stored);
  EXPECT_EQ(m->read(EntryKind::compiler, "k"), bytes("clang"));
  EXPECT_FALSE(m->read(EntryKind::compiler, "other"));
  EXPECT_EQ(server.requests, 0);
}

TEST_F(RemoteOverHttp, the_first_failure_is_one_warning) {
  HttpServer server;
  const auto m = machine(server.url());
  server.code = 503;
  EXPECT_TRUE(m->write(unit, "k", bytes("value")).stored);
  EXPECT_FALSE(m->read(unit, "other"));
  EXPECT_EQ(server.requests, 1);
  const std::optional<std::string> warning = m->take_warning();
  ASSERT_TRUE(warning);
  EXPECT_TRUE(warning->starts_with("the remote cache isn't used any more: " + server.url()));
  EXPECT_TRUE(warning->ends_with(": it answers 503")) << *warning;
  EXPECT_EQ(m->take_warning(), std::nullopt);
  EXPECT_EQ(m->read(unit, "k"), bytes("value"));
}

TEST_F(RemoteOverHttp, no_server_costs_little) {
  std::string url;
  {
    HttpServer server;
    url = server.url();
  }
  const auto m = machine(url);
  EXPECT_FALSE(m->read(unit, "k"));
  EXPECT_TRUE(m->take_warning());
  EXPECT_EQ(m->counts().failures, 1);
}

// Whatever a server answers, nothing but what a machine with the key wrote is handed out.
TEST_F(RemoteOverHttp, altered_answers_are_misses) {
  HttpServer server;
  machine(server.url())->write(unit, "k", bytes("value"));
  const auto files = server.files();
  ASSERT_EQ(files.size(), 2u);
  for (const auto& [path, contents] : files) {
    for (size_t at = 0; at < contents.size(); ++at) {
      std::string altered = contents;
      altered[at] = static_cast<char>(altered[at] ^ 1);
      server.set(path, altered);
      const auto read = machine(server.url())->read(unit, "k");
      // The name and the length in an ActionResult are of use to servers alone.
      if (read) {
        EXPECT_EQ(*read, bytes("value")) << path << " " << at;
        EXPECT_TRUE(path.starts_with("/ac/"));
      }
      if (at % 8 == 0) {
        server.set(path, contents.substr(0, at));
        EXPECT_FALSE(machine(server.url())->read(unit, "k")) << path << " " << at;
      }
    }
    server.set(path, contents);
  }
  EXPECT_EQ(machine(server.url())->read(unit, "k"), bytes("value"));
  // One entry under the name of another.
  const auto m = machine(server.url());
  m->write(unit, "l", bytes("other"));
  std::string l;
  for (const auto& [path, contents] : server.files())
    if (path == "/ac/" + entry_name(unit, "l")) l = contents;
  server.set("/ac/" + entry_name(unit, "k"), l);
  EXPECT_FALSE(machine(server.url())->read(unit, "k"));
}

TEST_F(Remote, places_and_keys_that_are_none) {
  const auto error = [](auto result) { return result.ok() ? "" : result.failure().message; };
  EXPECT_EQ(error(open_remote_place("/nowhere")),
            "remote cache: '/nowhere' is no folder, and doesn't begin with http://");
  const std::string path = (folder_ / "secret").string();
  EXPECT_EQ(error(read_common_key(path)),
            fmt::format("remote cache: key {}: No such file or directory", path));
  std::ofstream(path) << "too short";
  EXPECT_EQ(error(read_common_key(path)),
            fmt::format("remote cache: key {}: other users can read it; chmod 600 it", path));
  chmod(path.c_str(), 0600);
  EXPECT_EQ(error(read_common_key(path)),
            fmt::format("remote cache: key {}: it has 9 bytes, expected 32 or more", path));
  std::ofstream(path) << std::string(32, 'x');
  EXPECT_EQ(error(read_common_key(path)), "");
}

TEST(ActionResult, is_read_as_it_is_written) {
  const NamedBlob blob{std::string(64, 'a'), int64_t{1} << 40};
  const auto again = blob_of(action_result(blob));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sha256, blob.sha256);
  EXPECT_EQ(again->bytes, blob.bytes);
  // As protoc --decode_raw shows it: 2 { 1: "entry" 2 { 1: "aa.." 2: 1099511627776 } }
  const std::vector<std::byte> message = action_result({std::string(64, 'a'), 300});
  const std::string text(reinterpret_cast<const char*>(message.data()), message.size());
  EXPECT_EQ(text,
            "\x12\x4e\x0a\x05"
            "entry"
            "\x12\x45\x0a\x40" +
                std::string(64, 'a') + "\x10\xac\x02");
  EXPECT_FALSE(blob_of({}));
}

}  // namespace
}  // namespace cleave::cache::test
