// Mistakes with the command.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(command_that_is_not_there, "A command that there isn't",
        "cleave: error: there is no command 'runn'; did you mean run?") {
  command("cleave runn model.clv");
}

MISTAKE(option_that_is_not_there, "An option that there isn't",
        "cleave: error: unknown option --randm; did you mean --random?; see `cleave "
        "help run`") {
  command("cleave run model.clv --randm");
}

MISTAKE(option_of_another_range, "A number of threads that is none",
        "cleave: error: --threads: 'many' is not an integer from -2147483648 to "
        "2147483647; see `cleave help run`") {
  command("cleave run model.clv --random --size s0=2 --threads many");
}

MISTAKE(sizes_that_are_not_given, "A symbolic graph without sizes",
        "cleave: error: @main: sizes depend on %s0 in [1, 64], and a program has fixed "
        "sizes: give them with --size s0=N, or tensors of these shapes with --in") {
  command("cleave run model.clv --random");
}

MISTAKE(size_that_is_not_there, "A size that a graph doesn't have",
        "cleave: error: --size batch=8: @main has no symint %batch") {
  command("cleave run model.clv --random --size batch=8");
}

MISTAKE(size_out_of_range, "A size beyond its range",
        "cleave: error: symint s0 is 100, expected a value in [1, 64]") {
  command("cleave run model.clv --random --size s0=100");
}

MISTAKE(tensor_that_is_missing, "An input that is in no file",
        "cleave: error: input x: input f32[2,4] is not among the inputs; give it with "
        "--in, or use --random") {
  command("cleave run model.clv --size s0=2");
}

MISTAKE(tensor_of_another_shape, "An input of another shape",
        "cleave: error: %x: dim 1 is 3, expected 4") {
  command("cleave run model.clv --in x.safetensors --random");
}

MISTAKE(unit_of_a_budget, "A budget without a unit that is known",
        "cleave: error: --budget 64MB2: expected a size such as 1048576, 64MiB or 1.5GB") {
  command("cleave run model.clv --random --size s0=2 --budget 64MB2");
}

MISTAKE(result_over_an_input, "A result in the place of an input",
        "cleave: error: --out x.safetensors is --in, which would be lost: expected "
        "another file") {
  command("cleave run model.clv --in x.safetensors --out x.safetensors");
}

MISTAKE(graph_that_does_not_parse, "A graph with a typo",
        "cleave: error: typo.clv:2:8: P13: the operator 'rleu' is not known, expected "
        "one of doc/ops.md; the nearest is 'elu'\n"
        "    %y = rleu(%x)\n"
        "         ^") {
  command("cleave check typo.clv");
}

MISTAKE(value_that_is_not_there, "A value that isn't computed",
        "cleave: error: undefined.clv:3:10: P12: %z is not defined, expected a "
        "placeholder or an earlier result\n"
        "    return %z\n"
        "           ^") {
  command("cleave check undefined.clv");
}

}  // namespace
}  // namespace cleave::mistake
