#include "cache/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "cache/cache_folder.h"
#include "cache/entry_file.h"

namespace cleave::cache {
namespace {

struct Item {
  std::string name;  // of an entry
  int64_t bytes = 0;
  int64_t used_ns = 0;
};

constexpr int64_t ns_per_s = 1'000'000'000;
constexpr int64_t hour_ns = 3600 * ns_per_s;
constexpr int64_t temporary_age_ns = hour_ns;

int64_t ns_of(const timespec& t) { return int64_t{t.tv_sec} * ns_per_s + t.tv_nsec; }

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return ns_of(t);
}

// NAME.PID.N.tmp
bool is_temporary(std::string_view name) {
  return name.size() > 64 && name.ends_with(".tmp") && is_entry_name(name.substr(0, 64)) &&
         name[64] == '.';
}

// Calls visit(sub folder, name, its stat) for each file of ours. A folder that can't be opened is
// left out.
void for_each_file(int folder,
                   const std::function<void(int, const std::string&, const struct stat&)>& visit) {
  struct Close {
    void operator()(DIR* d) const { ::closedir(d); }
  };
  for (int i = 0; i < 256; ++i) {
    const std::string sub_name = {"0123456789abcdef"[i / 16], "0123456789abcdef"[i % 16]};
    Descriptor sub = open_sub_folder(folder, sub_name, IfMissing::leave);
    if (!sub.is_open()) continue;
    const std::unique_ptr<DIR, Close> names(::fdopendir(sub.get()));
    if (!names) continue;
    const int fd = sub.release();
    while (const dirent* e = ::readdir(names.get())) {
      const std::string name = e->d_name;
      if (!name.starts_with(sub_name) || !(is_entry_name(name) || is_temporary(name))) continue;
      struct stat info{};
      if (::fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) visit(fd, name, info);
    }
  }
}

// The entries; temporaries that are older than `age_ns` are removed on the way. A time to come, of
// a clock that was wrong, counts as the oldest: unused, that entry would stay for years.
std::vector<Item> list_entries(int folder, int64_t age_ns) {
  std::vector<Item> out;
  const int64_t now = now_ns();
  for_each_file(folder, [&](int sub, const std::string& name, const struct stat& info) {
    const int64_t used = ns_of(info.st_mtim);
    if (is_entry_name(name))
      out.push_back({name, int64_t{info.st_size}, used > now + hour_ns ? 0 : used});
    else if (now - used > age_ns)
      ::unlinkat(sub, name.c_str(), 0);
  });
  return out;
}

constexpr int64_t any_age = std::numeric_limits<int64_t>::max();

void keep(Sweep& sweep, const Item& item) {
  ++sweep.entries;
  sweep.bytes += item.bytes;
}

void remove(Sweep& sweep, int folder, const Item& item) {
  if (remove_entry_file(folder, item.name)) {
    ++sweep.removed;
    return;
  }
  ++sweep.stuck;
  keep(sweep, item);
}

}  // namespace

Sweep count_entries(int folder) {
  Sweep out;
  for (const Item& item : list_entries(folder, any_age)) keep(out, item);
  return out;
}

Sweep evict_entries(int folder, int64_t max_bytes) {
  std::vector<Item> items = list_entries(folder, temporary_age_ns);
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return std::tie(a.used_ns, a.name) < std::tie(b.used_ns, b.name);
  });
  int64_t bytes = 0;
  for (const Item& item : items) bytes += item.bytes;
  Sweep out;
  for (const Item& item : items) {
    if (bytes <= max_bytes) {
      keep(out, item);
      continue;
    }
    const int64_t stuck = out.stuck;
    remove(out, folder, item);
    if (out.stuck == stuck) bytes -= item.bytes;
  }
  return out;
}

Sweep verify_entries(int folder, const UserKey& user_key) {
  Sweep out;
  for (const Item& item : list_entries(folder, any_age)) {
    const EntryBytes file = read_entry_file(folder, item.name, Touch::no);
    if (file.found == Found::missing) continue;
    const auto entry =
        file.found == Found::whole ? checked_entry(file.bytes, user_key) : std::nullopt;
    if (entry && entry_name(entry->kind, entry->key) == item.name)
      keep(out, item);
    else if (file.found == Found::failed) {
      ++out.stuck;
      keep(out, item);
    } else {
      remove(out, folder, item);
    }
  }
  return out;
}

Sweep clear_entries(int folder) {
  Sweep out;
  for (const Item& item : list_entries(folder, -1 - any_age)) remove(out, folder, item);
  return out;
}

}  // namespace cleave::cache
