// Checkpoints and state_dicts as .safetensors files. Nothing is copied before everything is
// checked.
#include "cleave/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "import/safetensors.h"
#include "trace/variable_state.h"

namespace cleave {
namespace {

constexpr const char* version_key = "cleave_checkpoint";
constexpr const char* version = "1";

// A Variable and all its names.
struct Target {
  Variable variable;
  std::vector<std::string> names;
};

std::vector<Target> targets_of(const Store& store) {
  std::vector<Target> out;
  for (const auto& [name, v] : store.entries()) {
    const auto known =
        std::ranges::find_if(out, [&v = v](const Target& t) { return t.variable == v; });
    if (known == out.end())
      out.push_back({v, {name}});
    else
      known->names.push_back(name);
  }
  return out;
}

std::string type_text(const TensorEntry& e) {
  return fmt::format("{}[{}]", name_of(e.dtype), fmt::join(e.shape, ","));
}

// The first few names, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t shown = 6;
  std::vector<std::string> first(names.begin(), names.begin() + std::min(names.size(), shown));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

struct Match {
  const Target* target = nullptr;
  const TensorEntry* entry = nullptr;
};

// Matches the file's tensors to Variables; the error lists everything that doesn't fit.
Result<std::vector<Match>> match(const std::string& path, const SafetensorsFile& file,
                                 const std::vector<Target>& targets, Strictness strictness) {
  std::vector<Match> matches;
  std::vector<std::string> missing, unexpected, other_type, unequal;
  std::set<std::string> known;
  for (const Target& t : targets) {
    const TensorEntry* found = nullptr;
    for (const std::string& name : t.names) {
      known.insert(name);
      const TensorEntry* e = file.find(name);
      if (e == nullptr) continue;
      if (e->dtype != t.variable.dtype() || e->shape != t.variable.shape())
        other_type.push_back(fmt::format("{} is {}, expected {}", name, type_text(*e),
                                         t.variable.value().type_text()));
      else if (found != nullptr && !std::ranges::equal(found->data, e->data))
        unequal.push_back(fmt::format("{} and {}", t.names[0], name));
      if (found == nullptr) found = e;
    }
    if (found == nullptr)
      missing.push_back(t.names[0]);
    else
      matches.push_back({&t, found});
  }
  if (strictness == Strictness::exact)
    for (const TensorEntry& e : file.entries())
      if (!known.contains(e.name)) unexpected.push_back(e.name);

  std::vector<std::string> wrong;
  const auto report = [&](const std::vector<std::string>& names, const char* what) {
    if (!names.empty())
      wrong.push_back(fmt::format("{} {}: {}", names.size(), what, some_of(names)));
  };
  report(missing, "missing");
  report(unexpected, "unexpected");
  report(other_type, "of another type");
  report(unequal, "pairs of names of one tied weight with different contents");
  if (!wrong.empty())
    return user_error("{}: tensors: the file does not fit the model: {}", path,
                      fmt::join(wrong, "; "));
  return matches;
}

void copy(const std::vector<Match>& matches) {
  for (const Match& m : matches) {
    HostTensor& memory = trace::Access::memory(m.target->variable);
    if (m.entry->dtype == DType::boolean) {
      auto* out = static_cast<uint8_t*>(memory.data());
      for (const std::byte b : m.entry->data) *out++ = b != std::byte{0};
    } else if (!m.entry->data.empty()) {
      std::memcpy(memory.data(), m.entry->data.data(), m.entry->data.size());
    }
  }
}

Status save(const std::string& path, const Store& store, Metadata metadata, bool whole) {
  if (metadata.contains(version_key))
    return user_error("{}: metadata: {} is cleave's own", path, version_key);
  if (whole) metadata[version_key] = version;
  std::vector<TensorEntry> entries;
  for (const Target& t : targets_of(store)) {
    const HostTensor& value = t.variable.value();
    // A state_dict holds a tied weight under each of its names.
    const size_t names = whole ? 1 : t.names.size();
    for (size_t k = 0; k < names; ++k)
      entries.push_back(
          {t.names[k],
           value.dtype(),
           value.shape(),
           {static_cast<const std::byte*>(value.data()), static_cast<size_t>(value.bytes())}});
  }
  return write_safetensors(path, entries, metadata);
}

Result<Metadata> load(const std::string& path, const Store& store) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  const auto known = file.metadata().find(version_key);
  if (known == file.metadata().end())
    return user_error(
        "{}: version: this is no checkpoint of cleave; load_weights takes weights "
        "alone",
        path);
  if (known->second != version)
    return user_error("{}: version: the checkpoint has version {}, expected {}", path,
                      known->second, version);
  const std::vector<Target> targets = targets_of(store);
  CLEAVE_TRY(std::vector<Match> matches, match(path, file, targets, Strictness::exact));
  copy(matches);
  Metadata about = file.metadata();
  about.erase(version_key);
  return about;
}

Status load_into(const std::string& path, const nn::Module& model, Strictness strictness) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  const std::vector<Target> targets = targets_of(model.store());
  CLEAVE_TRY(std::vector<Match> matches, match(path, file, targets, strictness));
  copy(matches);
  return {};
}

Result<CheckpointInfo> inspect(const std::string& path) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  CheckpointInfo info;
  info.metadata = file.metadata();
  for (const TensorEntry& e : file.entries()) info.tensors.emplace_back(e.name, type_text(e));
  return info;
}

}  // namespace

void save_checkpoint(const std::string& path, const Store& store, const Metadata& metadata) {
  value_or_throw(save(path, store, metadata, true));
}
Metadata load_checkpoint(const std::string& path, const Store& store) {
  return value_or_throw(load(path, store));
}
CheckpointInfo inspect_checkpoint(const std::string& path) { return value_or_throw(inspect(path)); }
void load_weights(const std::string& path, const nn::Module& model, Strictness strictness) {
  value_or_throw(load_into(path, model, strictness));
}
void save_weights(const std::string& path, const nn::Module& model, const Metadata& metadata) {
  value_or_throw(save(path, model.store(), metadata, false));
}

}  // namespace cleave
