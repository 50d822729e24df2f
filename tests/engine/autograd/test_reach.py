"""What a gradient reaches, in graphs in which most nodes are alike. Laws of tests/engine/laws look at each op."""

from engine.autograd.backward import pull_back
from engine.autograd.reach import reached
from engine.core.dtypes import FLOAT32
from engine.core.modes import tracing
from engine.core.value import Value
from engine.ops import OPS
from tests.engine.laws.case import no_key


def leaf() -> Value:
    return Value((3,), FLOAT32, None, requires_grad=True)


def test_equal_nodes_are_told_apart_by_what_comes_before_and_after_them() -> None:
    leaves = [leaf() for _ in range(6)]
    with tracing(no_key):
        passed, stopped = leaves[0] * leaves[1], OPS["stop_gradient"](leaves[2] * leaves[3])
        unused = leaves[4] * leaves[5]
        end = OPS["sum"](passed * 2.0 + stopped * 2.0)
        assert reached(end, leaves) == [True, True, False, False, False, False]
        assert reached(unused, leaves) == [False] * 4 + [True, True]
        assert reached(end, [passed, stopped, end, unused]) == [True, True, True, False]


def test_outputs_of_one_node_count_one_by_one() -> None:
    x, y = leaf(), leaf()
    with tracing(no_key):
        first, second = OPS["unbind"](OPS["stack"](x, y))
        for end in (first, second, first + second):
            slopes = pull_back([end], [Value(end.shape, end.dtype, None)], [x, y, first, second])
            assert reached(end, [x, y, first, second]) == [slope is not None for slope in slopes]


def test_an_integer_exponent_and_a_variable_one_have_rules_of_their_own() -> None:
    x, y = leaf(), leaf()
    with tracing(no_key):
        assert reached(x**2 + x**0.5 + x**y, [x, y]) == [True, True]
        assert reached(x**2 * OPS["stop_gradient"](y), [x, y]) == [True, False]


def test_equal_nodes_of_which_other_outputs_are_used_are_told_apart() -> None:
    steps = [[leaf() for _ in range(3)] + [Value((), FLOAT32, None) for _ in range(3)] for _ in range(2)]
    with tracing(no_key):
        new_parameter, _ = OPS["momentum_update"](*steps[0])
        _, new_buffer = OPS["momentum_update"](*steps[1])
        end = OPS["sum"](new_parameter + new_buffer)
        assert reached(end, [*steps[0][:3], *steps[1][:3]]) == [True, True, True, True, False, True]
