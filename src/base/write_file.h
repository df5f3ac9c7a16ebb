// Writes a whole file, or leaves everything unchanged.
//
//   folder/name.PID.N.tmp   created new, written, fsynced      an error removes it
//          │ rename
//          ▼
//   folder/name             the old contents until here, the new ones from here on
//
// A link is followed, so that it remains a link. A device or pipe (/dev/stdout) is written
// directly. Errors (user): the folder is missing or not writable, the disk is full, the file would
// exceed the process's size limit; each names the path, the step and the system's reason.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave {

// The file's contents are the concatenated pieces.
Status write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);

Status write_file(const std::string& path, std::string_view text);

// Makes the folder and those around it. Error (user): it can't be made.
Status make_folder(const std::string& folder);

}  // namespace cleave
