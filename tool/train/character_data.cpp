#include "tool/train/character_data.h"

#include "tool/grouped.h"

namespace cleave::tool {

Result<std::unique_ptr<CharacterData>> CharacterData::open(const TrainArguments& o) {
  CLEAVE_TRY(TextData text, TextData::open(o.text, *o.context));
  return std::unique_ptr<CharacterData>(new CharacterData(o, std::move(text)));
}

CharacterData::CharacterData(const TrainArguments& o, TextData text)
    : path_(o.text), text_(std::move(text)), batch_size_(*o.batch), context_(*o.context),
      seed_(o.seed), batch_(2, HostTensor(DType::i64, {*o.batch, *o.context})) {}

const HostTensors& CharacterData::train_batch(int64_t number) {
  text_.train_batch(seed_, number, batch_);
  return batch_;
}

int64_t CharacterData::held_out_batches() const {
  return text_.held_out_batches(batch_size_, context_);
}

RunData::HeldOut CharacterData::held_out_batch(int64_t number) {
  text_.held_out_batch(number, batch_);
  return {&batch_, 1};
}

std::string CharacterData::about() const {
  return fmt::format("text     {}: {} characters to learn from, {} held out, {} different", path_,
                     grouped(text_.train_size()), grouped(text_.held_out_size()),
                     vocabulary().size());
}

Metadata CharacterData::identity() const {
  std::string codes;
  for (unsigned char c : vocabulary()) codes += fmt::format("{:02x}", c);
  return {{"vocabulary", codes}};
}

}  // namespace cleave::tool
