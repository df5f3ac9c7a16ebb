#include <cmath>
#include <filesystem>

#include "tool/named_files.h"
#include "tool/train/arguments.h"

namespace cleave::tool {
namespace {

using NamedText = std::pair<const char*, const std::string*>;

Status check_sizes(const TrainArguments& o) {
  const std::pair<const char*, std::optional<int64_t>> positive[] = {
      {"--layers", o.layers},        {"--width", o.width}, {"--heads", o.heads},
      {"--context", o.context},      {"--batch", o.batch}, {"--every", o.every},
      {"--accumulate", o.accumulate}};
  for (const auto& [name, value] : positive)
    if (value && (*value < 1 || *value > 1 << 20))
      return user_error("{} {}: expected 1 to 1048576", name, *value);
  if (!o.is_model_run() && *o.width % *o.heads)
    return user_error("--heads {}: expected a divisor of --width {}", *o.heads, *o.width);
  if (o.steps.value_or(0) < 0 || *o.sample < 0 || o.warmup.value_or(0) < 0 ||
      o.checkpoint_every < 0 || o.eval_every < 0)
    return user_error(
        "--steps, --sample, --warmup, --checkpoint-every and --eval-every can't be negative");
  // Counts of runs and tokens are products of these.
  if (o.steps.value_or(0) > int64_t{1} << 40)
    return user_error("--steps {}: expected at most 2^40", *o.steps);
  return {};
}

Status check_numbers(const TrainArguments& o) {
  if (o.dropout && !(*o.dropout >= 0 && *o.dropout < 1))
    return user_error("--dropout {}: expected 0 to below 1", *o.dropout);
  if (!(*o.lr > 0) || !std::isfinite(*o.lr))
    return user_error("--lr {}: expected a positive number", *o.lr);
  if (!(*o.final_lr >= 0) || !(o.clip >= 0) || !(*o.weight_decay >= 0))
    return user_error("--final-lr, --clip and --weight-decay can't be negative");
  if (o.schedule != "cosine" && o.schedule != "linear" && o.schedule != "constant")
    return user_error("--schedule {}: expected cosine, linear or constant", o.schedule);
  if (!(o.init_scale > 0) || std::isinf(static_cast<float>(o.init_scale)))
    return user_error("--init-scale {}: expected a positive number of f32", o.init_scale);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  if (o.masked && !(*o.masked > 0 && *o.masked <= 1))
    return user_error("--masked {}: expected a fraction above 0, up to 1", *o.masked);
  if (o.epochs && (!(*o.epochs > 0) || *o.epochs > 1e6))
    return user_error("--epochs {}: expected a number above 0, up to 1000000", *o.epochs);
  return {};
}

// What only one kind of run has.
Status check_kind(const TrainArguments& o) {
  if (o.is_model_run()) {
    if (o.layers || o.width || o.heads)
      return user_error(
          "--layers, --width and --heads are of the character model; config.json says them");
    if (o.epochs && o.steps) return user_error("--epochs and --steps: expected one of them");
    return {};
  }
  const NamedText of_models[] = {{"--jsonl", &o.jsonl},
                                 {"--field", &o.field},
                                 {"--tokens", &o.tokens},
                                 {"--token-dtype", &o.token_dtype},
                                 {"--images", &o.images},
                                 {"--held-out", &o.held_out},
                                 {"--tokenizer", &o.tokenizer},
                                 {"--separator", &o.separator},
                                 {"--save", &o.save}};
  for (const auto& [name, value] : of_models)
    if (!value->empty()) return user_error("{} needs a model: --config or --weights", name);
  if (o.masked) return user_error("--masked needs a model: --config or --weights");
  if (o.epochs) return user_error("--epochs needs a model: --config or --weights");
  if (o.text.empty()) return user_error("--text is required; see `cleave help train`");
  return {};
}

Status check_data(const TrainArguments& o) {
  if (!o.is_model_run()) return {};
  const NamedText all[] = {
      {"--text", &o.text}, {"--jsonl", &o.jsonl}, {"--tokens", &o.tokens}, {"--images", &o.images}};
  const char* given = nullptr;
  for (const auto& [name, path] : all) {
    if (path->empty()) continue;
    if (given) return user_error("{} and {}: expected one kind of data", given, name);
    given = name;
  }
  if (!given) return user_error("no data: expected --text, --jsonl, --tokens or --images");
  if (!o.field.empty() && o.jsonl.empty()) return user_error("--field is of --jsonl alone");
  if (!o.token_dtype.empty() && o.tokens.empty())
    return user_error("--token-dtype is of --tokens alone");
  if (!o.token_dtype.empty() && o.token_dtype != "u16" && o.token_dtype != "i32")
    return user_error("--token-dtype {}: expected u16 or i32", o.token_dtype);
  if (!o.separator.empty() && o.text.empty() && o.jsonl.empty())
    return user_error("--separator is of --text and --jsonl alone");
  if (o.config.empty() && o.weights.empty())
    return user_error("--model {} needs --config: config.json, or a folder that has one", o.model);
  return {};
}

// The folder would be read and written by one run.
Status check_save_folder(const TrainArguments& o) {
  if (o.save.empty()) return {};
  if (o.save == "-") return user_error("--save -: expected a folder");
  for (const auto& [name, path] :
       {std::pair("--config", &o.config), std::pair("--weights", &o.weights)}) {
    if (path->empty()) continue;
    std::error_code error;
    std::filesystem::path folder = *path;
    if (!std::filesystem::is_directory(folder, error))
      folder = std::filesystem::absolute(folder, error).parent_path();
    if (std::filesystem::equivalent(folder, o.save, error))
      return user_error("--save {} is the folder of {}, which would be lost: expected another one",
                        o.save, name);
  }
  return {};
}

Status check_paths(const TrainArguments& o) {
  for (const auto& [name, path] : {std::pair("--out", &o.out), std::pair("--save-init", &o.init)})
    if (*path == "-") return user_error("{} -: a checkpoint needs a file", name);
  for (const auto& [name, path] :
       {std::pair("--save-graph", &o.graph), std::pair("--trace", &o.trace.path),
        std::pair("--loss-svg", &o.loss_svg)})
    if (*path == "-") return user_error("{} -: expected a file, as stdout has the losses", name);
  for (const auto& [name, path] :
       {std::pair("--tokens", &o.tokens), std::pair("--images", &o.images)})
    if (*path == "-") return user_error("{} -: expected a file", name);
  CLEAVE_CHECK(check_save_folder(o));
  return check_files({{"--text", o.text},
                      {"--resume", o.resume, true},
                      {"--jsonl", o.jsonl},
                      {"--tokens", o.tokens},
                      {"--images", o.images},
                      {"--held-out", o.held_out},
                      {"--config", o.config},
                      {"--weights", o.weights},
                      {"--tokenizer", o.tokenizer}},
                     {{"--out", o.out},
                      {"--save-init", o.init},
                      {"--save-graph", o.graph},
                      {"--trace", o.trace.path},
                      {"--loss-svg", o.loss_svg}},
                     o.json ? Stdout::json : Stdout::free);
}

}  // namespace

Status check(const TrainArguments& o) {
  CLEAVE_CHECK(check_kind(o));
  CLEAVE_CHECK(check_sizes(o));
  CLEAVE_CHECK(check_numbers(o));
  CLEAVE_CHECK(check_data(o));
  return check_paths(o);
}

}  // namespace cleave::tool
