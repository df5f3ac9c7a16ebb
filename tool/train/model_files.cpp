#include "tool/train/model_files.h"

#include <simdjson.h>

#include <filesystem>

#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string folder_of(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<std::string> config_of(const TrainArguments& o) {
  const std::string& given = o.config.empty() ? o.weights : o.config;
  if (is_folder(given)) {
    const fs::path config = fs::path(given) / "config.json";
    if (is_file(config)) return config.string();
    return user_error("{}: the folder has no config.json{}", given,
                      o.config.empty() ? "; --config names one" : "");
  }
  if (!o.config.empty()) return o.config;
  const fs::path config = fs::path(folder_of(o.weights)) / "config.json";
  if (is_file(config)) return config.string();
  return user_error("--weights {}: there is no config.json beside it; --config names one",
                    o.weights);
}

Result<std::string> tokenizer_of(const TrainArguments& o, const std::string& config_folder) {
  if (!o.tokenizer.empty()) {
    if (!is_folder(o.tokenizer)) return o.tokenizer;
    const fs::path file = fs::path(o.tokenizer) / "tokenizer.json";
    if (is_file(file)) return file.string();
    return user_error("--tokenizer {}: the folder has no tokenizer.json", o.tokenizer);
  }
  const fs::path weights = is_folder(o.weights) ? o.weights : folder_of(o.weights);
  for (const fs::path& folder : {fs::path(config_folder), weights})
    if (is_file(folder / "tokenizer.json")) return (folder / "tokenizer.json").string();
  return std::string();
}

// A member of an object of JSON, where the file is there and is one.
template <class Use>
Status with_member(const fs::path& file, const char* key, const Use& use) {
  if (!is_file(file)) return {};
  CLEAVE_TRY(const std::string text, read_text(file.string()));
  dom::parser parser;
  dom::element value;
  if (parser.parse(text).get(value) || value.at_key(key).get(value)) return {};
  use(value);
  return {};
}

// The first of a number, or of an array of them.
std::optional<int64_t> first_number(dom::element value) {
  if (dom::array all; value.get_array().get(all) == simdjson::SUCCESS && all.size() > 0)
    value = all.at(0).value();
  int64_t number = 0;
  if (value.get_int64().get(number)) return std::nullopt;
  return number;
}

// "</s>", or {"content": "</s>", ...}.
std::string token_text(dom::element value) {
  std::string_view text;
  if (value.is_object() && value.at_key("content").get(value)) return {};
  if (value.get_string().get(text)) return {};
  return std::string(text);
}

// What transformers' from_pretrained may read from a folder beside config.json and weights.
constexpr const char* companions[] = {"tokenizer.json",
                                      "tokenizer_config.json",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "vocab.json",
                                      "vocab.txt",
                                      "merges.txt",
                                      "tokenizer.model",
                                      "spiece.model",
                                      "sentencepiece.bpe.model",
                                      "chat_template.jinja",
                                      "generation_config.json",
                                      "preprocessor_config.json"};

}  // namespace

Result<ModelFiles> model_files(const TrainArguments& o) {
  ModelFiles out;
  CLEAVE_TRY(out.config, config_of(o));
  out.folder = folder_of(out.config);
  CLEAVE_TRY(out.tokenizer, tokenizer_of(o, out.folder));
  return out;
}

Result<std::optional<int64_t>> separator_of(const TrainArguments& o, const ModelFiles& files,
                                            const Tokenizer& tokenizer) {
  if (!o.separator.empty()) {
    const auto id = tokenizer.id(o.separator);
    if (!id)
      return user_error("--separator {}: {} has no such token", o.separator, files.tokenizer);
    return id;
  }
  std::optional<int64_t> id;
  CLEAVE_CHECK(with_member(files.config, "eos_token_id",
                           [&](dom::element value) { id = first_number(value); }));
  if (id && *id >= 0) return id;
  id.reset();
  CLEAVE_CHECK(with_member(fs::path(folder_of(files.tokenizer)) / "tokenizer_config.json",
                           "eos_token",
                           [&](dom::element value) { id = tokenizer.id(token_text(value)); }));
  return id;
}

Status copy_companions(const ModelFiles& files, const std::string& to) {
  for (const char* name : companions) {
    fs::path from = fs::path(files.folder) / name;
    if (std::string_view(name) == "tokenizer.json" && !files.tokenizer.empty())
      from = files.tokenizer;
    else if (!is_file(from) && !files.tokenizer.empty())
      from = fs::path(folder_of(files.tokenizer)) / name;
    if (!is_file(from)) continue;
    CLEAVE_TRY(const std::string contents, read_text(from.string()));
    CLEAVE_CHECK(write_text((fs::path(to) / name).string(), contents));
  }
  return {};
}

}  // namespace cleave::tool
