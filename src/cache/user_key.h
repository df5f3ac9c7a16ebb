// The key of this user's cache: 32 random bytes in the file `key` of its folder, mode 0600.
//
// It is written aside and linked to its name, so that processes that begin at once agree on one.
// A file that can't be trusted (a link, another user's, readable by others, of another length) is
// replaced; whatever was written with the old key is then a miss. It alone is synced: torn by a
// power loss, it would cost all entries.
#pragma once
#include <optional>

#include "base/result.h"
#include "cache/cache_folder.h"
#include "cache/entry.h"

namespace cleave::cache {

// Nothing where the key is missing, or can't be trusted, and is left so. Errors (user): it can't be
// read or created; `path` names the folder in the message.
Result<std::optional<UserKey>> read_user_key(int folder, const std::string& path,
                                             IfMissing if_missing);

}  // namespace cleave::cache
