#include <fstream>

#include "test/fuzz/misuse/world.h"

namespace cleave::misuse {
namespace {

void save(World& w) {
  switch (w.below(4)) {
    case 0: save_checkpoint(w.path(), w.store(), {{w.name(), w.name()}}); break;
    case 1: save_checkpoint(w.path(), w.step().store()); break;
    case 2: save_weights(w.path(), w.module(), {{w.name(), "v"}}); break;
    default: save_checkpoint(w.path(), {{w.name(), w.store()}, {w.name(), w.step().store()}});
  }
}
void load(World& w) {
  const auto rename = [&w](const std::string& name) {
    if (w.maybe(12)) throw HostThrows();
    return w.maybe(4) ? w.name() : name;
  };
  switch (w.below(6)) {
    case 0: load_checkpoint(w.path(), w.store()); break;
    case 1: load_checkpoint(w.path(), w.step().store()); break;
    case 2:
      load_weights(w.path(), w.module(),
                   {.allow_missing = w.maybe(2),
                    .allow_extra = w.maybe(2),
                    .cast = w.maybe(2),
                    .prefix = w.maybe(4) ? w.name() : "",
                    .rename = rename});
      break;
    case 3: load_checkpoint(w.path(), {{w.name(), w.store()}, {w.name(), w.store()}}); break;
    case 4: inspect_checkpoint(w.path()); break;
    default:
      for (const auto& [name, t] : load_tensors(w.path())) w.arrays.add(t);
  }
}
void tensors(World& w) { save_tensors(w.path(), {{w.name(), w.array()}, {w.name(), w.array()}}); }
void spoil(World& w) {
  const std::string path = w.folder + "/" + std::string(1, static_cast<char>('a' + w.below(4)));
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  if (!f) return;
  f.seekp(w.below(200));
  f.put(static_cast<char>(w.below(256)));
}

data::SourcePtr source(World& w) {
  switch (w.below(9)) {
    case 0: return data::tensors({w.array(), w.array()});
    case 1:
      return data::function(w.size(), {{w.dtype(), w.shape()}},
                            [&w](int64_t, std::span<void* const>) {
                              if (w.maybe(12)) throw HostThrows();
                            });
    case 2: return data::npy({w.path()});
    case 3: return data::safetensors(w.path(), {w.name()});
    case 4: return data::csv(w.path(), {{{w.name()}, w.dtype()}});
    case 5:
      return data::tokens(
          w.path(),
          {.stored = w.dtype(), .is_u16 = w.maybe(2), .context = w.number(), .stride = w.number()});
    case 6: return data::part(source(w), w.number(), w.number());
    case 7: return data::split(source(w), w.real(), w.rng()).first;
    default: return data::tensors({Generator(1).normal({8, 3}), Generator(2).normal({8, 1})});
  }
}
void batches(World& w) {
  data::Batches b(w.maybe(24) ? data::SourcePtr() : source(w),
                  {.size = w.size(),
                   .shuffle = w.maybe(2),
                   .seed = w.rng(),
                   .last = w.maybe(2) ? data::LastBatch::keep : data::LastBatch::drop,
                   .prefetch = 0});
  for (int64_t k = w.below(4); k > 0; --k) {
    for (const HostTensor& t : b.next()) w.arrays.add(t);
    if (w.maybe(3)) b.seek(w.number());
    b.position();
    b.per_epoch();
  }
  const data::Batches moved = std::move(b);
  if (w.maybe(2)) b.next();
  if (w.maybe(2)) b.position();
}
void prefetch(World& w) {
  data::Batches b(data::tensors({Generator(1).normal({8, 3})}),
                  {.size = w.below(5) + 1, .prefetch = static_cast<int>(w.number() % 100)});
  for (int64_t k = w.below(6); k > 0; --k) {
    b.next();
    if (w.maybe(3)) b.seek(w.below(20));
  }
}
void scalars(World& w) {
  ScalarLog log = w.maybe(2) ? ScalarLog::csv(w.path()) : ScalarLog::tensorboard(w.path());
  log.add(w.number(), w.name(), w.real());
  const ScalarLog moved = std::move(log);
  if (w.maybe(2)) log.add(w.number(), w.name(), w.real());
}
void target(World& w) {
  if (w.maybe(2)) Target::here().write(w.path());
  Target::read(w.path());
}

}  // namespace

const std::vector<NamedAction>& file_actions() {
  static const std::vector<NamedAction> all = {
      {"file.save", save},       {"file.save", save},         {"file.load", load},
      {"file.load", load},       {"file.tensors", tensors},   {"file.spoil", spoil},
      {"data.batches", batches}, {"data.prefetch", prefetch}, {"log.scalars", scalars},
      {"target.file", target}};
  return all;
}

}  // namespace cleave::misuse
