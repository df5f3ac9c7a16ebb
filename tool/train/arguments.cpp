#include "tool/train/arguments.h"

#include <algorithm>

namespace cleave::tool {
namespace {

template <class T>
void set(std::optional<T>& value, T otherwise) {
  if (!value) value = otherwise;
}

}  // namespace

const std::string& TrainArguments::data_path() const {
  for (const std::string* path : {&jsonl, &tokens, &images})
    if (!path->empty()) return *path;
  return text;
}

void set_defaults(TrainArguments& o) {
  const bool tunes = o.is_model_run();
  set(o.lr, tunes ? 5e-5 : 1e-3);
  set(o.final_lr, tunes ? 0 : 1e-4);
  set(o.weight_decay, tunes ? 0.01 : 0.1);
  set<int64_t>(o.batch, tunes ? 4 : 12);
  set<int64_t>(o.sample, tunes ? 0 : 400);
  if (!o.epochs) set<int64_t>(o.steps, 1000);
  if (o.steps) set_warmup(o);
  if (tunes) return;
  set<int64_t>(o.layers, 4);
  set<int64_t>(o.width, 128);
  set<int64_t>(o.heads, 4);
  set<int64_t>(o.context, 64);
  set(o.dropout, 0.0);
}

void set_warmup(TrainArguments& o) {
  set<int64_t>(o.warmup, o.is_model_run() ? std::min<int64_t>(100, *o.steps / 10) : 100);
}

}  // namespace cleave::tool
