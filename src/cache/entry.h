// What a file of the cache holds, and its name.
//
//   8   "clvcache"          32  header
//   4   version
//   4   kind
//   8   bytes of the key
//   8   bytes of the payload
//   ..  key, payload
//   32  HMAC-SHA-256 of all before, by the user's key
//
// Numbers are little endian. The name is the SHA-256 of (version, kind, key), so that a file is
// found without a table; the key itself is in the file, so that a file under another's name, and
// two keys of one name, are told apart. The code at the end holds only for files that a process of
// this user made completely: not for a torn or altered one, nor for one of another user or machine.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cache/sha256.h"

namespace cleave::cache {

// Numbers on disk: they stay.
enum class EntryKind : uint32_t {
  unit = 1,      // a compiled piece of C text
  program = 2,   // a compiled program
  compiler = 3,  // what a compiler's identity was (runtime/known_compiler.h)
};

using UserKey = std::array<std::byte, 32>;

struct Entry {
  EntryKind kind = EntryKind::unit;
  std::string_view key;  // any bytes
  std::span<const std::byte> payload;
};

// SHA-256 of (version, kind, key).
Digest entry_digest(EntryKind kind, std::string_view key);
// The file's name: the digest's 64 digits.
std::string entry_name(EntryKind kind, std::string_view key);
// Whether a file may be called so by entry_name.
bool is_entry_name(std::string_view name);

// The parts of a file beside the payload.
struct EntryFrame {
  std::string head;  // header and key
  Digest code;
};
EntryFrame frame_of(const Entry& entry, const UserKey& user_key);

// What a file holds, if all of it is as it was written with this key; it refers to `file`.
std::optional<Entry> checked_entry(std::span<const std::byte> file, const UserKey& user_key);

}  // namespace cleave::cache
