// A config.json of transformers and its fields, each with the default that transformers has.
//
//   CLEAVE_TRY(const ConfigFile file, ConfigFile::read("gpt2/config.json"));
//   CLEAVE_TRY(const int64_t width, file.size("n_embd", 768));
//
// The text is untrusted: nested at most 64 deep, no key of an object that is read twice. Errors
// name the file and the field.
#pragma once
#include <simdjson.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::pretrained {

using Element = simdjson::dom::element;

// Members of one JSON object.
class Fields {
 public:
  // `where` begins the errors' names of fields: "" or "rope_scaling.".
  Fields(simdjson::dom::object object, std::string where)
      : object_(object), where_(std::move(where)) {}

  // Nothing where it is absent or null.
  std::optional<Element> find(std::string_view key) const;
  bool is_null(std::string_view key) const;  // there, and null
  // From 1 to 2^31-1. Errors (user) are about other values.
  Result<int64_t> size(std::string_view key, int64_t missing) const;
  Result<std::optional<int64_t>> maybe_size(std::string_view key) const;
  Result<std::optional<int64_t>> maybe_integer(std::string_view key) const;
  Result<double> number(std::string_view key, double missing) const;
  Result<double> positive(std::string_view key, double missing) const;  // above 0
  Result<bool> flag(std::string_view key, bool missing) const;
  Result<std::string> text(std::string_view key, const std::string& missing) const;
  // The members of an object, if it is there.
  Result<std::optional<Fields>> object(std::string_view key) const;
  // Error (unsupported): the field has another value. False, null, 0, "", [] and {} are one.
  Status only(std::string_view key, std::string_view supported) const;
  Status only_empty(std::string_view key) const;
  // Error (unsupported): a member that isn't one of these.
  Status only_members(const std::vector<std::string_view>& keys) const;

  std::string name_of(std::string_view key) const { return where_ + std::string(key); }
  simdjson::dom::object object() const { return object_; }

 private:
  simdjson::dom::object object_;
  std::string where_;
};

class ConfigFile {
 public:
  // A file, or a folder that has a config.json.
  static Result<ConfigFile> read(const std::string& path);
  // `name` stands for the path in errors.
  static Result<ConfigFile> from_text(std::string text, const std::string& name);

  const std::string& path() const { return path_; }
  const Fields& fields() const { return *fields_; }

  // Stands for each probability of dropout that is asked for.
  void set_dropout(std::optional<double> p) { dropout_ = p; }
  std::optional<double> dropout() const { return dropout_; }
  Result<double> probability(std::string_view key, double missing) const;

 private:
  ConfigFile() = default;
  std::string path_;
  std::shared_ptr<simdjson::dom::parser> parser_;  // holds what fields_ refers to
  std::optional<Fields> fields_;
  std::optional<double> dropout_;
};

// The file's bytes. Errors (user): it isn't there, is no regular file, can't be read.
Result<std::string> read_text(const std::string& path);

}  // namespace cleave::pretrained
