#include "pretrained/config_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/printable.h"
#include "import/exported/json.h"

namespace cleave::pretrained {
namespace {

constexpr int64_t largest_size = (int64_t{1} << 31) - 1;

// A short value as JSON writes it.
std::string shown(Element e) {
  const std::string text = simdjson::minify(e);
  if (text.size() <= 60) return text;
  return text.substr(0, 60) + "...";
}

// Error (user): a key occurs twice, of which readers would take one or the other.
Status check_keys(simdjson::dom::object object) {
  std::set<std::string_view> keys;
  for (const simdjson::dom::key_value_pair field : object)
    if (!keys.insert(field.key).second) return user_error("{} occurs twice", printable(field.key));
  return {};
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd.is_open() || ::fstat(fd.get(), &info) != 0)
    return user_error("{}: open: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return user_error("{}: it is no regular file", path);
  std::string text(static_cast<size_t>(info.st_size), '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0) return user_error("{}: read: {}", path, std::strerror(errno));
    if (got == 0) return user_error("{}: the file became shorter while it was read", path);
    done += static_cast<size_t>(got);
  }
  return text;
}

std::optional<Element> Fields::find(std::string_view key) const {
  return exported::maybe_member(object_, key);
}

bool Fields::is_null(std::string_view key) const {
  Element e;
  return object_.at_key(key).get(e) == simdjson::SUCCESS && e.is_null();
}

Result<std::optional<int64_t>> Fields::maybe_integer(std::string_view key) const {
  const auto e = find(key);
  if (!e) return std::optional<int64_t>();
  int64_t v = 0;
  if (e->get_int64().get(v) != simdjson::SUCCESS)
    return user_error("{} is {}, expected an integer", name_of(key), shown(*e));
  return std::optional<int64_t>(v);
}

Result<std::optional<int64_t>> Fields::maybe_size(std::string_view key) const {
  CLEAVE_TRY(const std::optional<int64_t> v, maybe_integer(key));
  if (v && (*v < 1 || *v > largest_size))
    return user_error("{} is {}, expected an integer from 1 to {}", name_of(key), *v, largest_size);
  return v;
}

Result<int64_t> Fields::size(std::string_view key, int64_t missing) const {
  CLEAVE_TRY(const std::optional<int64_t> v, maybe_size(key));
  return v.value_or(missing);
}

Result<double> Fields::number(std::string_view key, double missing) const {
  const auto e = find(key);
  if (!e) return missing;
  double v = 0;
  if (e->get_double().get(v) != simdjson::SUCCESS || !std::isfinite(v))
    return user_error("{} is {}, expected a number", name_of(key), shown(*e));
  return v;
}

Result<double> Fields::positive(std::string_view key, double missing) const {
  CLEAVE_TRY(const double v, number(key, missing));
  if (!(v > 0)) return user_error("{} is {}, expected a number above 0", name_of(key), v);
  return v;
}

Result<bool> Fields::flag(std::string_view key, bool missing) const {
  const auto e = find(key);
  if (!e) return missing;
  bool v = false;
  if (e->get_bool().get(v) != simdjson::SUCCESS)
    return user_error("{} is {}, expected true or false", name_of(key), shown(*e));
  return v;
}

Result<std::string> Fields::text(std::string_view key, const std::string& missing) const {
  const auto e = find(key);
  if (!e) return missing;
  std::string_view v;
  if (e->get_string().get(v) != simdjson::SUCCESS)
    return user_error("{} is {}, expected a text", name_of(key), shown(*e));
  return std::string(v);
}

Result<std::optional<Fields>> Fields::object(std::string_view key) const {
  const auto e = find(key);
  if (!e) return std::optional<Fields>();
  simdjson::dom::object o;
  if (e->get_object().get(o) != simdjson::SUCCESS)
    return user_error("{} is {}, expected an object", name_of(key), shown(*e));
  if (Status keys = check_keys(o); !keys.ok())
    return std::move(keys).failure().within(name_of(key));
  return std::optional<Fields>(Fields(o, name_of(key) + "."));
}

Status Fields::only(std::string_view key, std::string_view supported) const {
  const auto e = find(key);
  if (!e) return {};
  std::string_view v;
  if (e->get_string().get(v) == simdjson::SUCCESS && v == supported) return {};
  return unsupported("{} is {}, cleave has \"{}\" alone", name_of(key), shown(*e), supported);
}

Status Fields::only_empty(std::string_view key) const {
  const auto e = find(key);
  if (!e) return {};
  const std::string v = simdjson::minify(*e);
  if (v == "false" || v == "0" || v == "\"\"" || v == "[]" || v == "{}") return {};
  return unsupported("{} is {}, cleave has models without it alone", name_of(key), shown(*e));
}

Status Fields::only_members(const std::vector<std::string_view>& keys) const {
  for (const simdjson::dom::key_value_pair field : object_)
    if (!field.value.is_null() && std::ranges::find(keys, field.key) == keys.end())
      return unsupported("{} is {}, cleave has models without it alone",
                         name_of(printable(field.key)), shown(field.value));
  return {};
}

Result<ConfigFile> ConfigFile::from_text(std::string text, const std::string& name) {
  ConfigFile file;
  file.path_ = name;
  file.parser_ = std::make_shared<simdjson::dom::parser>();
  Result<Element> root = exported::parse_json(*file.parser_, text);
  if (!root.ok()) return std::move(root).failure().within(name);
  simdjson::dom::object object;
  if (root->get_object().get(object) != simdjson::SUCCESS)
    return user_error("{}: expected an object of fields, as transformers writes it", name);
  if (Status keys = check_keys(object); !keys.ok()) return std::move(keys).failure().within(name);
  file.fields_ = Fields(object, "");
  return file;
}

Result<ConfigFile> ConfigFile::read(const std::string& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  const std::string file =
      is_folder ? (std::filesystem::path(path) / "config.json").string() : path;
  CLEAVE_TRY(std::string text, read_text(file));
  return from_text(std::move(text), file);
}

Result<double> ConfigFile::probability(std::string_view key, double missing) const {
  CLEAVE_TRY(double p, fields().number(key, missing));
  p = dropout_.value_or(p);
  if (!(p >= 0 && p <= 1))
    return user_error("{} is {}, expected a probability from 0 to 1",
                      dropout_ ? "dropout" : std::string(key), p);
  return p;
}

}  // namespace cleave::pretrained
