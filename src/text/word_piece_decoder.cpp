// WordPiece: a space before each token but those that continue a word, then the spaces of English.
#include "text/decoder.h"

namespace cleave::text {
namespace {

void clean_up(std::string& text) {
  constexpr std::string_view rules[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                           {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                           {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                           {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : rules) replace_all(text, from, to);
}

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleans) : prefix_(std::move(prefix)), cleans_(cleans) {}
  Status apply(Tokens& tokens, Allowance&) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) {
        if (token.starts_with(prefix_))
          token.erase(0, prefix_.size());
        else
          token.insert(0, 1, ' ');
      }
      if (cleans_) clean_up(token);
    }
    return {};
  }

 private:
  std::string prefix_;
  bool cleans_;
};

}  // namespace

Result<DecoderPtr> read_word_piece_decoder(const Fields& fields) {
  CLEAVE_TRY(std::string prefix, fields.text("prefix"));
  CLEAVE_TRY(const bool cleans, fields.boolean("cleanup"));
  return DecoderPtr(std::make_unique<const WordPieceDecoder>(std::move(prefix), cleans));
}

}  // namespace cleave::text
