// The file of an entry in an open cache folder: folder/ab/abcdef...
//
//   ab/NAME.PID.N.tmp     created new, written whole      an error removes it
//        │ rename
//        ▼
//   ab/NAME               complete, or as it was; a reader that has it open keeps what it opened
//
// Nothing is synced: what a power loss tears or empties fails the check of checked_entry, and is a
// miss like any other. Any number of processes may do all of this at once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace cleave::cache {

// Larger files are not read, nor written: a bound of the memory that a hostile file can take.
constexpr int64_t largest_entry_bytes = int64_t{256} << 20;

enum class Found : uint8_t {
  whole,    // the bytes are there, unchecked
  missing,  //
  wrong,    // no file of this user, a link, too large: never an entry of ours
  failed,   // the system refuses for now (too many open files, a bad disk)
};

struct EntryBytes {
  Found found = Found::missing;
  std::vector<std::byte> bytes;
};

enum class Touch : uint8_t { no, yes };

// With Touch::yes the file's time becomes now, as that of its last use.
EntryBytes read_entry_file(int folder, const std::string& name, Touch touch);
// Returns 0 or the errno of what failed.
int write_entry_file(int folder, const std::string& name, Pieces pieces);
// Whether it is gone now.
bool remove_entry_file(int folder, const std::string& name);

// The sub folder of an entry: the first two digits.
std::string sub_folder_of(const std::string& name);

}  // namespace cleave::cache
