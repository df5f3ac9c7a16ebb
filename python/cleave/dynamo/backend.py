"""The backend of torch.compile: AOTAutograd's graphs, partitioned and compiled by cleave."""
import functools

from torch._dynamo.backends.common import aot_autograd

from cleave.dynamo.options import BackendOptions
from cleave.dynamo.partition import partition
from cleave.dynamo.plan import Plan
from cleave.dynamo.take_apart import take_apart_uncovered
from cleave.fx.checks import read_through_checks
from cleave.fx.complex_pairs import take_apart_complex
from cleave.fx.decompositions import decompositions
from cleave.fx.kept_whole import kept_whole
from cleave.fx.random import draw_with_state
from cleave.fx.unroll import unroll_loops


def backend(graph_module, example_inputs, *, mode=None, options=None, **_):
    """What torch.compile calls with each graph that Dynamo finds; registered as "cleave". mode is not used."""
    chosen = BackendOptions.of(options)
    compiler = lambda name: lambda gm, _: _boxed(Plan(name, gm, chosen.text_of))

    def inference(gm, _):
        unroll_loops(gm)
        read_through_checks(gm)
        take_apart_complex(gm, decompositions())
        take_apart_uncovered(gm)
        draw_with_state(gm)
        return _boxed(Plan("inference", gm, chosen.text_of))

    with kept_whole():
        return aot_autograd(
            fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), inference_compiler=inference,
            partition_fn=functools.partial(partition, options=chosen), decompositions=decompositions(),
        )(graph_module, example_inputs)


def _boxed(plan):
    def run(args):
        return plan(args)

    run._boxed_call = True
    run.plan = plan
    return run
