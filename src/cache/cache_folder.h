// Opens the folder that a cache lies in, or says why nothing may be read from there.
//
//   /home/ada/.cache/cleave        missing folders are created, for this user alone (0700)
//      │       │       └ a folder of this user, no link, not writable by others
//      │       └ may be a link of this user
//      └ may be a link of root (/home -> /srv/home); a link of anyone else is refused
//
// A folder on the way may be another user's, who can then put another folder into its place: that
// must be one of ours too, and after it is open nothing goes through its path again. All that lies
// in it is opened relative to its descriptor, and no link is followed.
#pragma once
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace cleave::cache {

enum class IfMissing : uint8_t { create, leave };

// The folder, open for reading. Where it is missing and is left so: a descriptor that isn't open.
// Errors (user): each of the above, and what the system refuses; they say what to do.
Result<Descriptor> open_cache_folder(const std::string& path, IfMissing if_missing);

// The sub folder `name` of an open folder. Not open where it is missing and is left so, is no
// folder of this user, is a link, or is writable by others; errno says why.
Descriptor open_sub_folder(int folder, const std::string& name, IfMissing if_missing);

}  // namespace cleave::cache
