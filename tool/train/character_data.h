// The data of a character run: windows of a text (tool/text_data.h).
#pragma once
#include "tool/text_data.h"
#include "tool/train/arguments.h"
#include "tool/train/run_data.h"

namespace cleave::tool {

class CharacterData final : public RunData {
 public:
  // Errors (user): those of TextData::open.
  static Result<std::unique_ptr<CharacterData>> open(const TrainArguments& o);

  // The characters, sorted: a character's id is its place here.
  const std::string& vocabulary() const { return text_.vocabulary(); }

  const HostTensors& train_batch(int64_t number) override;
  int64_t held_out_batches() const override;
  HeldOut held_out_batch(int64_t number) override;
  std::string about() const override;
  Metadata identity() const override;

 private:
  CharacterData(const TrainArguments& o, TextData text);

  std::string path_;
  TextData text_;
  int64_t batch_size_, context_;
  uint64_t seed_;
  HostTensors batch_;
};

}  // namespace cleave::tool
