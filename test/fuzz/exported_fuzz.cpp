// Any bytes are a model of PyTorch or an error. A model that is accepted is a graph that verifies
// and reads back.
//   make fuzz-build && build/fuzz/bin/fuzz_exported -max_len=65536 -max_total_time=120 CORPUS \
//     test/fuzz/exported test/import/exported
// What begins with "PK" is an archive; anything else is the texts of one, with lines `====`
// between: the program, the list of weights, that of constants, the bytes of weight_0. So that
// mutations reach the reader of programs, which an archive's CRCs would keep out. What begins with
// the byte 0x80 is the pickle of a table of tensors.
#include <zip.h>

#include <array>
#include <string>

#include "import/exported/model.h"
#include "import/exported/tensor_table.h"
#include "import/exported/weights.h"
#include "ir/text.h"
#include "op/registry.h"

namespace {

using cleave::ImportedModel;
using cleave::OpRegistry;
using cleave::Result;
using cleave::ZipArchive;

const OpRegistry& ops() {
  static const OpRegistry registry = cleave::value_or_bug(cleave::core_ops());
  return registry;
}

using Parts = std::vector<std::pair<const char*, std::string_view>>;

// A zip file with these entries, stored.
std::vector<std::byte> zipped(const Parts& parts) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* to = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(to);
  zip_t* z = zip_open_from_source(to, ZIP_TRUNCATE, &error);
  for (const auto& [name, bytes] : parts) {
    const zip_int64_t k =
        zip_file_add(z, name, zip_source_buffer(z, bytes.data(), bytes.size(), 0), 0);
    zip_set_file_compression(z, static_cast<zip_uint64_t>(k), ZIP_CM_STORE, 0);
  }
  zip_close(z);
  zip_stat_t s;
  zip_source_stat(to, &s);
  std::vector<std::byte> bytes(s.size);
  zip_source_open(to);
  zip_source_read(to, bytes.data(), bytes.size());
  zip_source_close(to);
  zip_source_free(to);
  return bytes;
}

std::vector<std::byte> archive_of(std::string_view text) {
  constexpr std::string_view between = "\n====\n";
  constexpr std::array names = {"m/models/model.json", "m/data/weights/model_weights_config.json",
                                "m/data/constants/model_constants_config.json",
                                "m/data/weights/weight_0"};
  std::array<std::string, names.size()> parts = {"", R"({"config":{}})", R"({"config":{}})", ""};
  for (std::string& part : parts) {
    const size_t end = text.find(between);
    part = text.substr(0, end);
    if (end == text.npos) break;
    text.remove_prefix(end + between.size());
  }
  return zipped({{"m/archive_format", "pt2"},
                 {names[0], parts[0]},
                 {names[1], parts[1]},
                 {names[2], parts[2]},
                 {names[3], parts[3]}});
}

}  // namespace

namespace {

// A table's tensors, of one storage of 64 bytes.
int read_table(std::string_view pickle) {
  const std::string storage(64, '\1');
  auto zip = ZipArchive::from_bytes(zipped({{"a/data.pkl", pickle}, {"a/data/0", storage}}), "t");
  if (!zip.ok()) __builtin_trap();
  const auto table =
      cleave::exported::read_tensor_table(std::make_shared<const ZipArchive>(*std::move(zip)));
  if (!table.ok()) return table.failure().message.empty() ? -1 : 0;
  for (const auto& [name, payload] : *table)
    if (const auto t = cleave::exported::read_tensor(*payload.archive, payload);
        t.ok() && t->bytes() > 2 << 20)
      __builtin_trap();
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('\x80')) return read_table(text);
  const Result<ZipArchive> zip = ZipArchive::from_bytes(
      text.starts_with("PK") ? std::vector<std::byte>(given.begin(), given.end())
                             : archive_of(text),
      "m");
  if (!zip.ok()) return zip.failure().message.empty() ? -1 : 0;
  const Result<ImportedModel> model = cleave::import_exported(*zip, ops());
  if (!model.ok()) {
    if (model.failure().kind == cleave::ErrorKind::bug) __builtin_trap();
    return 0;
  }
  const auto again = cleave::parse(cleave::print(model->program), "m", ops());
  if (!again.ok() || !cleave::difference(model->program, *again).empty()) __builtin_trap();
  for (const auto& [name, tensor] : model->weights)
    if (tensor.bytes() > 64 * static_cast<int64_t>(size) + (1 << 20)) __builtin_trap();
  return 0;
}
