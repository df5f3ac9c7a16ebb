#include "train/match_tensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "trace/variable_state.h"

namespace cleave {
namespace {

// The first few of a list, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t shown = 6;
  std::vector<std::string> first(names.begin(), names.begin() + std::min(names.size(), shown));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// The entries of the file by the model's names.
using Entries = std::map<std::string, const TensorEntry*, std::less<>>;

Result<Entries> renamed_entries(const std::string& path, std::span<const TensorEntry> given,
                                const LoadOptions& options, const SkipsName& skips,
                                LoadReport& report) {
  Entries out;
  for (const TensorEntry& e : given) {
    std::string name = e.name;
    if (skips && skips(name)) continue;
    if (!name.starts_with(options.prefix)) {
      report.extra.push_back(e.name);
      continue;
    }
    name.erase(0, options.prefix.size());
    if (options.rename) name = options.rename(name);
    if (name.empty()) {
      report.extra.push_back(e.name);
    } else if (const auto [at, is_new] = out.emplace(name, &e); !is_new) {
      return user_error("{}: rename: {} and {} are both {}", path, at->second->name, e.name, name);
    }
  }
  return out;
}

bool converts(DType from, DType to, const LoadOptions& options) {
  return from == to || (options.cast && is_floating(from) && is_floating(to));
}

}  // namespace

std::string type_text(const TensorEntry& e) {
  return fmt::format("{}[{}]", name_of(e.dtype), fmt::join(e.shape, ","));
}

std::vector<LoadTarget> load_targets(const std::vector<PrefixedStore>& stores) {
  std::vector<LoadTarget> out;
  for (const PrefixedStore& s : stores)
    for (const auto& [name, v] : s.store.entries()) {
      const auto known =
          std::ranges::find_if(out, [&v = v](const LoadTarget& t) { return t.variable == v; });
      if (known == out.end())
        out.push_back({v, {s.prefix + name}});
      else
        known->names.push_back(s.prefix + name);
    }
  return out;
}

Status check_no_averages(const std::string& path, const std::vector<LoadTarget>& targets) {
  for (const LoadTarget& t : targets)
    if (trace::Access::state(t.variable)->holds_average)
      return user_error("{}: an average stands in the place of {}; use_ema(false) first", path,
                        t.names[0]);
  return {};
}

Result<MatchedTensors> match_tensors(const std::string& path, std::span<const TensorEntry> given,
                                     const std::vector<LoadTarget>& targets,
                                     const LoadOptions& options, const SkipsName& skips) {
  MatchedTensors out;
  LoadReport& report = out.report;
  CLEAVE_TRY(Entries entries, renamed_entries(path, given, options, skips, report));
  std::vector<std::string> other_type, unequal;
  for (const LoadTarget& t : targets) {
    const TensorEntry* found = nullptr;
    for (const std::string& name : t.names) {
      const auto at = entries.find(name);
      if (at == entries.end()) continue;
      const TensorEntry& e = *at->second;
      entries.erase(at);
      if (!converts(e.dtype, t.variable.dtype(), options) || e.shape != t.variable.shape())
        other_type.push_back(fmt::format("{} is {}, expected {}", name, type_text(e),
                                         trace::Access::host(t.variable).type_text()));
      else if (found && !std::ranges::equal(found->data, e.data))
        unequal.push_back(fmt::format("{} and {}", t.names[0], name));
      if (!found) found = &e;
    }
    (found ? report.loaded : report.missing).push_back(t.names[0]);
    if (found && found->dtype != t.variable.dtype()) report.converted.push_back(t.names[0]);
    if (found) out.matches.push_back({t.variable, found});
  }
  for (const auto& [name, e] : entries) report.extra.push_back(e->name);

  std::vector<std::string> wrong;
  const auto list = [&](bool is_allowed, const std::vector<std::string>& names, const char* what) {
    if (!is_allowed && !names.empty())
      wrong.push_back(fmt::format("{} {}: {}", names.size(), what, some_of(names)));
  };
  list(options.allow_missing, report.missing, "missing");
  list(options.allow_extra, report.extra, "unexpected");
  list(false, other_type, "of another type");
  list(false, unequal, "pairs of names of one tied weight with different contents");
  if (wrong.empty()) return out;
  return user_error("{}: tensors: the file does not fit the model: {}", path,
                    fmt::join(wrong, "; "));
}

HostTensor host_tensor(const TensorEntry& e) {
  HostTensor out(e.dtype, e.shape);
  if (e.dtype == DType::boolean) {
    auto* to = static_cast<uint8_t*>(out.data());
    for (const std::byte b : e.data) *to++ = b != std::byte{0};
  } else if (!e.data.empty()) {
    std::memcpy(out.data(), e.data.data(), e.data.size());
  }
  return out;
}

void copy_tensors(const std::vector<TensorMatch>& matches) {
  for (const TensorMatch& m : matches) {
    HostTensor& memory = trace::Access::overwritten(m.variable);
    const HostTensor value = host_tensor(*m.entry);
    memory.copy_from(value.dtype() == memory.dtype() ? value : value.to(memory.dtype()));
  }
}

TensorEntry entry_of(const std::string& name, const HostTensor& t) {
  return {name,
          t.dtype(),
          t.shape(),
          {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())}};
}

}  // namespace cleave
