// Reads the signature of a .pt2 file around its graph: placeholders, updates, results, weights.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/exported/archive.h"
#include "import/exported/graph_reader.h"
#include "import/exported/model.h"

namespace cleave::exported {

class ModelReader {
 public:
  // least_size: of the sizes that the file's ranges leave open (model.cpp).
  ModelReader(const ZipArchive& zip, ArchivedModel model, const OpRegistry& ops, int64_t least_size)
      : zip_(zip), model_(std::move(model)), file_{ops, {}, {"main"}, 0}, graph_("main"),
        least_size_(least_size) {}

  Result<ImportedModel> read(const ImportOptions& options);

 private:
  struct Added {
    std::string name;  // in the file's graph
    ValueId value;
    bool is_weight = false;
  };

  const Program& source() const { return model_.program; }
  // An input may bear the name of a parameter.
  static std::string input_key(const std::string& name) { return "input " + name; }

  // ---- what enters (model_inputs.cpp)
  // The symbols of inputs and of the file's ranges, in the order of the inputs.
  Status add_symints();
  Status add_symint(const std::string& name, const std::map<std::string, int64_t>& hints);
  // Which of the names of one tensor is its placeholder: the first that a node reads.
  void choose_ties();
  Status add_placeholders(GraphReader& reader);
  Status add_placeholder(const InputSpec& spec, GraphReader& reader);
  std::string symbol_text(const std::string& name) const;

  // ---- what leaves (model_results.cpp)
  // What the nodes write in place, and what the signature says is mutated.
  Status add_updates(GraphReader& reader);
  Status add_checks(GraphReader& reader);
  Status add_update(ValueId v, ValueId placeholder, const std::string& target);
  // Those of the signature's outputs that are wanted.
  Status add_results(GraphReader& reader, const std::function<bool(bool is_update)>& wanted);
  Result<ValueId> result_of(const Argument& a, GraphReader& reader);
  Status add_effect(const OutputSpec& spec, GraphReader& reader);
  Status add_rng(ValueId rng);
  // Placeholders with bytes in common would be two tensors: only while nothing changes them.
  Status check_shared() const;
  bool changed(const std::string& target) const;
  Result<ImportedModel> finish(WeightBytes weights);

  const ZipArchive& zip_;
  ArchivedModel model_;
  FileContext file_;
  cleave::Graph graph_;
  int64_t least_size_;
  std::map<std::string, std::string> chosen_;  // of the first of ties_of: the placeholder
  std::map<std::string, std::string> tie_of_;  // of each name in the archive: the placeholder
  std::map<std::string, std::string> ties_;
  std::vector<std::pair<std::string, std::string>> waiting_;
  std::map<std::string, Added> by_target_;  // user inputs by input_key()
  std::vector<std::string> order_;          // keys of by_target_, as their placeholders stand
  std::set<std::string> taken_, written_, complex_;
  std::vector<std::string> leaves_, result_leaves_;
};

}  // namespace cleave::exported
