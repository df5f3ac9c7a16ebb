"""Checks of values, which are calls without a result: what reads a checked value later reads it through the check.

    _assert_async(c, message);  y = f(x)  ->  checked = _functional_assert_async(c, message, x);  y = f(checked)

x is what c is computed from, or came out of the same call, or else any value that is read later, the outputs among the readers.
A run whose c is false fails with the message. Checks of sizes are the guards' matter.
"""
import operator

import torch

from cleave.fx.linalg import error_of_factor

aten = torch.ops.aten
TOKEN = "cleave_token"  # in a placeholder's meta: it says that what has an effect runs in order


def read_through_checks(graph_module):
    graph = graph_module.graph
    order = {n: k for k, n in enumerate(graph.nodes)}
    for n in list(graph.nodes):
        if n.op == "call_function" and n.target in (aten._assert_async.msg, aten._assert_async.default):
            message = n.args[1] if len(n.args) > 1 else "an assertion about a tensor failed"
            if _check(n, n.args[0], message, order):
                graph.erase_node(n)
        elif _checks_factor(n):
            _, _, info, api = n.args
            if _check(n, info, error_of_factor(api), order, of_info=True):
                _pass_token(n)
    graph_module.recompile()


def _checks_factor(node):
    return (node.op == "call_function" and node.target is torch.ops.higher_order.with_effects
            and node.args[1] is aten._linalg_check_errors.default and error_of_factor(node.args[3]) is not None)


def _check(node, condition, message, order, of_info=False):
    """Whether something is read later, which then waits for the check before `node`."""
    x = _read_later(node, condition, order)
    if x is None:
        return False
    graph = node.graph
    with graph.inserting_before(node):
        if of_info:
            condition = _call(graph, node, aten.all.default, (_call(graph, node, aten.eq.Scalar, (condition, 0)),))
        checked = _call(graph, node, aten._functional_assert_async.msg, (condition, message, x))
    order[checked] = order[node]
    x.replace_all_uses_with(checked, delete_user_cb=lambda user: order.get(user, -1) > order[node])
    return True


def _call(graph, node, target, args):
    made = graph.call_function(target, args)
    values = torch.fx.node.map_arg(args, lambda m: m.meta["val"])
    made.meta.update({key: node.meta[key] for key in ("stack_trace", "nn_module_stack") if key in node.meta})
    made.meta["val"] = args[2].meta["val"] if target is aten._functional_assert_async.msg else target(*values)
    return made


def _read_later(node, condition, order):
    """The nearest value to the condition that is read behind the check."""
    def is_read_later(m):
        return isinstance(m.meta.get("val"), torch.Tensor) and any(order.get(user, -1) > order[node] for user in m.users)

    seen, nearest = {condition}, [condition]
    for m in nearest:  # grows
        if is_read_later(m):
            return m
        parts = [user for user in m.users if user.target is operator.getitem] if isinstance(m.meta.get("val"), (list, tuple)) else []
        for other in (*parts, *m.all_input_nodes):
            if other not in seen and order.get(other, len(order)) < order[node]:
                seen.add(other)
                nearest.append(other)
    return next((m for m in order if order[m] < order[node] and is_read_later(m)), None)


def _pass_token(node):
    """The token as it came, for what takes the next one."""
    token = node.args[0]
    if token.op == "placeholder":
        token.meta[TOKEN] = True
    for part in list(node.users):
        part.replace_all_uses_with(token)
        node.graph.erase_node(part)
    node.graph.erase_node(node)
