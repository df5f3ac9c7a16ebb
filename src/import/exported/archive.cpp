#include "import/exported/archive.h"

#include "base/printable.h"
#include "import/exported/read_program.h"
#include "import/exported/tensor_table.h"

namespace cleave::exported {
namespace {

Result<std::string> read_text(const ZipArchive& zip, const ZipArchive::Entry& entry) {
  CLEAVE_TRY(const std::vector<std::byte> bytes, zip.read(entry));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string_view root_of(std::string_view name) { return name.substr(0, name.find('/') + 1); }

Failure missing(std::string_view name) {
  return user_error("layout: {} is missing", printable(name));
}

// The name of the one models/NAME.json.
Result<std::string> model_name(const ZipArchive& zip, const std::string& root) {
  const std::string folder = root + "models/";
  std::vector<std::string> names;
  bool compiled = false;
  for (const ZipArchive::Entry& e : zip.entries()) {
    compiled |= e.name.starts_with(root + "data/aotinductor/");
    if (!e.name.starts_with(folder) || !e.name.ends_with(".json")) continue;
    names.push_back(e.name.substr(folder.size(), e.name.size() - folder.size() - 5));
  }
  if (names.size() == 1) return names[0];
  if (names.empty() && compiled)
    return unsupported(
        "layout: it holds code compiled by AOTInductor and no program; cleave reads "
        "what torch.export.save writes");
  if (names.empty()) return missing(folder + "model.json");
  for (std::string& name : names) name = printable(name);
  return unsupported("layout: it holds {} models: {}; expected one", names.size(),
                     fmt::join(names, ", "));
}

Status add(const std::string& from, Payloads read, Payloads& into) {
  for (auto& [name, payload] : read)
    if (!into.emplace(name, std::move(payload)).second)
      return user_error("{}: {} is a weight and a constant", printable(from), printable(name));
  return {};
}

Status read_table(const ZipArchive& zip, const std::string& file, Payloads& into) {
  const ZipArchive::Entry* entry = zip.find(file);
  if (!entry) return missing(file);
  CLEAVE_TRY(std::vector<std::byte> bytes, zip.read(*entry));
  if (bytes.empty()) return {};
  CLEAVE_TRY(ZipArchive inner, ZipArchive::from_bytes(std::move(bytes), printable(file),
                                                      ZipArchive::Packing::stored));
  CLEAVE_TRY(Payloads read,
             read_tensor_table(std::make_shared<const ZipArchive>(std::move(inner))));
  return add(file, std::move(read), into);
}

Status read_list(const ZipArchive& zip, const std::string& folder, const std::string& list,
                 const std::string& legacy, Payloads& into) {
  if (zip.find(folder + legacy)) return read_table(zip, folder + legacy, into);
  const ZipArchive::Entry* entry = zip.find(folder + list);
  if (!entry) return missing(folder + list);
  CLEAVE_TRY(const std::string text, read_text(zip, *entry));
  Result<Payloads> read = read_payloads(text, folder);
  if (!read.ok()) return std::move(read).failure().within(printable(entry->name));
  for (const auto& [name, payload] : *read)
    if (!zip.find(payload.file)) return missing(payload.file);
  return add(entry->name, *std::move(read), into);
}

Result<Program> read_entry(const ZipArchive& zip, const ZipArchive::Entry& entry) {
  CLEAVE_TRY(const std::string text, read_text(zip, entry));
  Result<Program> p = read_program(text);
  if (!p.ok()) return std::move(p).failure().within(printable(entry.name));
  return p;
}

Result<ArchivedModel> read(const ZipArchive& zip) {
  if (zip.entries().empty()) return user_error("layout: the archive is empty");
  if (const ZipArchive::Entry* program = zip.find("serialized_exported_program.json")) {
    ArchivedModel model;
    CLEAVE_TRY(model.program, read_entry(zip, *program));
    CLEAVE_CHECK(read_table(zip, "serialized_state_dict.pt", model.tensors));
    CLEAVE_CHECK(read_table(zip, "serialized_constants.pt", model.tensors));
    return model;
  }
  const std::string root(root_of(zip.entries()[0].name));
  const ZipArchive::Entry* format = zip.find(root + "archive_format");
  if (!format)
    return user_error("layout: no archive of torch.export.save: {} is missing",
                      printable(root + "archive_format"));
  CLEAVE_TRY(const std::string text, read_text(zip, *format));
  if (text != "pt2")
    return user_error("layout: archive_format is {}, expected pt2", printable(text));
  CLEAVE_TRY(const std::string name, model_name(zip, root));
  ArchivedModel model;
  CLEAVE_TRY(model.program, read_entry(zip, *zip.find(root + "models/" + name + ".json")));
  CLEAVE_CHECK(read_list(zip, root + "data/weights/", name + "_weights_config.json", name + ".pt",
                         model.tensors));
  CLEAVE_CHECK(read_list(zip, root + "data/constants/", name + "_constants_config.json",
                         name + ".pt", model.tensors));
  return model;
}

}  // namespace

Result<ArchivedModel> read_model(const ZipArchive& zip) {
  Result<ArchivedModel> model = read(zip);
  if (!model.ok()) return std::move(model).failure().within(zip.path());
  return model;
}

}  // namespace cleave::exported
