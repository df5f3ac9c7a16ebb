// The two halves of a function, and where the tensors that they read and write come from.
#pragma once
#include <map>
#include <optional>
#include <span>

#include "cleave/aot.h"
#include "compilers/compilers.h"

namespace cleave {

struct Halves {
  // A function whose placeholders are marked `grad` where one is wanted. Decomposes, differentiates
  // and cuts it; `results` are the first entries of its `return`.
  static Result<Halves> make(Graph function, size_t results, const AotOptions& options);

  TracedGraph joint;                    // the function, where nothing wants a gradient
  TracedGraph forward;                  // the same then
  std::optional<TracedGraph> backward;  // nothing then
  size_t results = 0;                   // of the function
  size_t kept_at = 0;  // the forward's results from here on are what the backward begins with
  size_t kept = 0;     // how many these are
  GraphCallable run_forward = {}, run_backward = {};  // empty until they first run
};

// A function for any inputs: of Tensors, which is traced for each tuple of sizes, or a graph.
class AotSource {
 public:
  virtual ~AotSource() = default;
  // The sizes that halves are made for. Errors (user): inputs that don't suit the function.
  virtual std::vector<int64_t> sizes(std::span<const InputRef> inputs) = 0;
  virtual std::vector<int64_t> first_sizes() const = 0;
  virtual Halves halves(const std::vector<int64_t>& sizes) = 0;
  // By the names of the forward's placeholders, borrowed, or copied where they lie otherwise.
  virtual HostTensors operands(const Graph& forward, std::span<const InputRef> inputs) = 0;
  // What an update of this placeholder writes.
  virtual HostTensor& target(const std::string& name, std::span<const InputRef> inputs) = 0;
  // Of the inputs whose gradients are wanted, then of parameters.
  virtual const std::vector<std::string>& wanted_inputs() const = 0;
  // Of what the function reads and nobody copied: writes between the halves would go unnoticed.
  virtual std::vector<int64_t> versions() const = 0;
};

std::unique_ptr<AotSource> traced_source(std::optional<nn::Module> model,
                                         const TracedFunction& function,
                                         const std::vector<InputSpec>& inputs,
                                         const AotOptions& options, Location at);
std::unique_ptr<AotSource> graph_source(const TracedGraph& graph, const AotOptions& options);

}  // namespace cleave
