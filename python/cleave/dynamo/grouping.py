"""Which calls of an FX graph run together: the fewest regions, in one pass over the graph.

    stage(covered call)   = max over its operands of  stage(covered), stage(outside) + 1
    stage(outside call)   = max over its operands of  stage(operand)

Covered calls of one stage are a region; calls outside of that stage run behind it. Regions know integers as
expressions and don't wait for them. A call that writes its operands has all before it in its stage or earlier, and all others behind it.
"""
import operator

from cleave.fx.sizes import enters_as_tensor


def stages_of(nodes, is_covered):
    """{node: stage} of calls, getitems and numbers, in order. A getitem belongs to its call."""
    stages, covered = {}, {}
    last = written = 0  # the highest stage; the highest in which something is written
    for n in nodes:
        if n.op != "call_function":
            continue
        if n.target is operator.getitem and n.args[0] in stages:
            stages[n], covered[n] = stages[n.args[0]], covered[n.args[0]]
            continue
        covered[n] = is_covered(n)
        stage = written
        for m in n.all_input_nodes:
            if m in stages and not (covered[n] and not enters_as_tensor(m)):
                stage = max(stage, stages[m] + (covered[n] and not covered[m]))
        if writes_operands(n):
            stage, written = last, last + 1
        stages[n] = stage
        last = max(last, stage)
    return stages


def writes_operands(node):
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable
