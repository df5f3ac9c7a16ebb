#include "tool/train/run_files.h"

#include <cstdio>
#include <filesystem>

#include "base/write_file.h"

namespace cleave::tool {
namespace {

Status check_file(const std::string& path) {
  if (path.empty()) return {};
  const std::string probe = path + ".probe";
  CLEAVE_CHECK(write_file(probe, ""));
  std::remove(probe.c_str());
  return {};
}

// Keys that checkpoints of before haven't, with what their runs had.
const Metadata& former() {
  static const Metadata values{{"accumulate", "1"}};
  return values;
}

}  // namespace

Metadata run_identity(const TrainArguments& o, const Metadata& of_model, const Metadata& of_data) {
  Metadata all = of_model;
  all.insert(of_data.begin(), of_data.end());
  all["batch"] = fmt::format("{}", *o.batch);
  all["seed"] = fmt::format("{}", o.seed);
  if (o.accumulate != 1) all["accumulate"] = fmt::format("{}", o.accumulate);
  return all;
}

Status RunFiles::check_writable(const TrainArguments& o) {
  CLEAVE_CHECK(check_file(o.out));
  CLEAVE_CHECK(check_file(o.init));
  CLEAVE_CHECK(check_file(o.loss_svg));
  if (o.save.empty()) return {};
  CLEAVE_CHECK(make_folder(o.save));
  return check_file((std::filesystem::path(o.save) / "config.json").string());
}

Status RunFiles::resume(const Store& store) const {
  const std::string& path = o_.resume;
  if (path.empty()) return {};
  Metadata have = inspect_checkpoint(path).metadata;
  Metadata wanted = identity_;
  for (const auto& [key, value] : former()) {
    have.emplace(key, value);
    wanted.emplace(key, value);
  }
  for (const auto& [key, want] : wanted)
    if (!have.contains(key))
      return user_error("{}: not a checkpoint of `cleave train`{}: no '{}'", path,
                        o_.is_model_run() ? " with such a model" : "", key);
  for (const auto& [key, want] : wanted) {
    const std::string& had = have.at(key);
    if (had == want) continue;
    if (key == "vocabulary")
      return user_error("{}: was trained on a text with other characters than {}", path, o_.text);
    if (key == "data")
      return user_error("{}: was trained on other data than {}", path, o_.data_path());
    return user_error("{}: was made with --{} {}, this run has {}", path, key, had, want);
  }
  load_checkpoint(path, store);
  return {};
}

Status RunFiles::write_initial(const Store& store) const {
  if (!o_.init.empty()) save_checkpoint(o_.init, store, identity_);
  return {};
}

Status RunFiles::write(const Store& store) const {
  if (!o_.out.empty()) save_checkpoint(o_.out, store, identity_);
  if (!o_.save.empty()) {
    model_.save(o_.save);
    CLEAVE_CHECK(copy_companions(model_.files, o_.save));
  }
  return write_chart();
}

Status RunFiles::write_chart() const {
  if (o_.loss_svg.empty()) return {};
  return write_file(o_.loss_svg, loss_chart(curves));
}

}  // namespace cleave::tool
