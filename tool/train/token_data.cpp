#include "tool/train/token_data.h"

#include <algorithm>

#include "tool/grouped.h"
#include "tool/train/masking.h"

namespace cleave::tool {
namespace {

// Reads files of the kind of data that the run was given.
class StreamReader {
 public:
  StreamReader(const TrainArguments& o, const RunModel& model) : o_(o), model_(model) {}

  Status open_tokenizer() {
    if (!o_.tokens.empty() && !o_.masked && !model_.is_masked) return {};
    if (!model_.tokenizer)
      return user_error("{}: there is no tokenizer.json beside the config; --tokenizer names one{}",
                        model_.files.config,
                        o_.tokens.empty() ? ", --tokens takes numbers of tokens" : "");
    tokenizer_.emplace(*model_.tokenizer, model_.separator);
    if (!o_.jsonl.empty() && !tokenizer_->separates())
      return user_error(
          "{}: neither config.json (eos_token_id) nor tokenizer_config.json (eos_token) says what "
          "stands between documents; --separator names a token",
          model_.files.config);
    for (const int64_t id : tokenizer_->around())
      if (id < 0 || id >= model_.vocabulary)
        return user_error(
            "{}: token {}, which stands between documents, is outside of the model's "
            "vocabulary of {}",
            model_.files.tokenizer, id, model_.vocabulary);
    return {};
  }

  Result<std::shared_ptr<const TokenStream>> read(const std::string& path) const {
    TokenStream stream;
    if (!o_.tokens.empty()) {
      CLEAVE_TRY(stream, read_token_file(path, has_u16(), model_.vocabulary));
    } else if (!o_.jsonl.empty()) {
      CLEAVE_TRY(stream, tokenizer_->json_lines(path, o_.field.empty() ? "text" : o_.field));
    } else {
      CLEAVE_TRY(stream, tokenizer_->text(path));
    }
    return std::shared_ptr<const TokenStream>(std::make_shared<TokenStream>(std::move(stream)));
  }

  // Error (user): the tokenizer has no token for masks.
  Result<AlterBatch> masking() const {
    if (!model_.is_masked) return AlterBatch();
    std::optional<int64_t> mask;
    for (const char* name : {"[MASK]", "<mask>"})
      if (!mask) mask = tokenizer_->tokenizer().id(name);
    if (!mask || *mask >= model_.vocabulary)
      return user_error(
          "{}: it has no token [MASK] or <mask>, which masked language modelling needs",
          model_.files.tokenizer);
    Masking m{.probability = o_.masked.value_or(0.15),
              .mask_id = *mask,
              .vocabulary = model_.vocabulary,
              .never = tokenizer_->around(),
              .seed = o_.seed};
    m.never.push_back(*mask);
    return AlterBatch([m](int64_t stream, HostTensors& batch) { m.apply(stream, batch); });
  }

 private:
  bool has_u16() const {
    if (o_.token_dtype.empty()) return model_.vocabulary <= 1 << 16;
    return o_.token_dtype == "u16";
  }

  const TrainArguments& o_;
  const RunModel& model_;
  std::optional<DocumentTokenizer> tokenizer_;
};

std::string about(const TrainArguments& o, const TokenStream& stream) {
  const std::string tokens =
      fmt::format("{}: {} tokens", o.data_path(), grouped(static_cast<int64_t>(stream.ids.size())));
  return o.jsonl.empty() ? tokens
                         : fmt::format("{} of {} documents", tokens, grouped(stream.documents));
}

}  // namespace

data::SourcePtr windows(std::shared_ptr<const TokenStream> stream, int64_t length) {
  const auto count = static_cast<int64_t>(stream->ids.size()) / length;
  return data::function(count, {{DType::i64, {length}}, {DType::i64, {length}}},
                        [stream, length](int64_t example, std::span<void* const> to) {
                          const auto first = stream->ids.begin() + example * length;
                          for (void* const tensor : to)
                            std::copy_n(first, length, static_cast<int64_t*>(tensor));
                        });
}

Result<RunDataPtr> token_data(const TrainArguments& o, const RunModel& model) {
  if (!o.images.empty())
    return user_error("--images: {} is a language model; expected --text, --jsonl or --tokens",
                      model.name);
  if (o.masked && !model.is_masked)
    return user_error("--masked: {} learns the next token; only bert guesses masked ones",
                      model.name);
  StreamReader reader(o, model);
  CLEAVE_CHECK(reader.open_tokenizer());
  CLEAVE_TRY(AlterBatch masking, reader.masking());
  CLEAVE_TRY(const auto stream, reader.read(o.data_path()));

  Digest digest;
  digest.add(stream->ids.data(), stream->ids.size() * sizeof stream->ids[0]);
  Examples examples{.about = about(o, *stream),
                    .unit = fmt::format("windows of {}", model.context),
                    .identity = digest.text()};
  examples.train = windows(stream, model.context);
  if (o.held_out.empty()) {
    std::tie(examples.train, examples.held_out) = hold_out(examples.train);
  } else {
    CLEAVE_TRY(const auto held_out, reader.read(o.held_out));
    examples.held_out = windows(held_out, model.context);
    if (examples.held_out->size() == 0)
      return user_error("--held-out {}: its {} tokens make no window of {}; lower --context",
                        o.held_out, held_out->ids.size(), model.context);
  }
  return ExampleData::make(std::move(examples), *o.batch, o.seed, masking,
                           "lower --context or --batch, or give more data");
}

}  // namespace cleave::tool
