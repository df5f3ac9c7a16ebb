// A store of this machine, and behind it one that several machines share.
//
//   place/ac/NAME       which file has the entry NAME (entry_name): an ActionResult of Bazel's
//                       remote execution API, so that its servers take it, with one output file
//   place/cas/SHA256    an entry (entry.h), whose code is made with the machines' common key
//
// What is read there is written to the local store as well. The first failure ends the use of the
// place, with a warning; that an entry isn't there is none.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "cache/store.h"

namespace cleave::cache {

// Where files lie by name, such as "ac/01ab...".
class RemotePlace {
 public:
  virtual ~RemotePlace() = default;
  // Nothing where there is no such file. Errors (user): what the system or the server says.
  virtual Result<std::optional<std::vector<std::byte>>> get(const std::string& name) = 0;
  virtual Status put(const std::string& name, std::span<const std::byte> bytes) = 0;
};

// A folder, or http://... (http.h). Errors: user, the place isn't one of these; those of Http.
Result<std::unique_ptr<RemotePlace>> open_remote_place(const std::string& place);

// The common key: the SHA-256 of the file. Errors (user): it can't be read, others can read it, or
// it has less than 32 bytes.
Result<UserKey> read_common_key(const std::string& path);

class RemoteCache final : public Store {
 public:
  RemoteCache(std::shared_ptr<Store> local, std::unique_ptr<RemotePlace> place, const UserKey& key)
      : local_(std::move(local)), place_(std::move(place)), key_(key) {}

  std::optional<std::vector<std::byte>> read(EntryKind kind, std::string_view key) override;
  WriteOutcome write(EntryKind kind, std::string_view key,
                     std::span<const std::byte> payload) override;
  void count_bypass(std::string_view reason) override { local_->count_bypass(reason); }
  // The local ones, with what the place had as hits, and altered files there as corrupt.
  Counts counts() const override;
  void finish() override { local_->finish(); }
  std::optional<std::string> take_warning() override;

 private:
  Result<std::optional<std::vector<std::byte>>> fetch(EntryKind kind, std::string_view key);
  void give_up(const Failure& failure);

  const std::shared_ptr<Store> local_;
  const std::unique_ptr<RemotePlace> place_;
  const UserKey key_;
  std::atomic<bool> works_ = true;
  mutable std::mutex mutex_;
  Counts counts_;
  std::optional<std::string> warning_;
};

// The ActionResult that names one output file, and what it names; nothing for other bytes.
struct NamedBlob {
  std::string sha256;  // 64 digits
  int64_t bytes = 0;
};
std::vector<std::byte> action_result(const NamedBlob& blob);
std::optional<NamedBlob> blob_of(std::span<const std::byte> action_result);

}  // namespace cleave::cache
