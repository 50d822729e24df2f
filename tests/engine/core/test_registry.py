"""The op table: declaration, look-up, the checks of a call, promotion and modes."""

from __future__ import annotations

import numpy as np
import pytest

import engine.ops
from engine.core.errors import AttributeValueError, ShapeError, UnknownName
from engine.core.modes import MODES, no_grad, tracing, training_mode
from engine.core.registry import composite, lookup, primitive
from engine.core.shape_rules import same
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from engine.ops.methods.operators import NOT_METHODS
from tests.support.rows import each_row


def _no_key() -> Value:
    raise AssertionError("no random op runs here")


def test_every_op_belongs_to_a_family_and_is_found_by_name() -> None:
    for name, op in OPS.items():
        assert getattr(engine.ops, name, op) is op or name in vars(engine.ops)
        assert lookup(name) is op
        assert op.body.__module__.startswith("engine.ops.")


def test_names_and_aliases_are_distinct() -> None:
    names = [name for op in OPS.values() for name in (op.name, *op.aliases)]
    assert len(names) == len(set(names))


def test_an_alias_finds_its_op() -> None:
    for op in OPS.values():
        assert all(lookup(alias) is op for alias in op.aliases)


def test_an_unknown_op_gets_a_hint() -> None:
    with pytest.raises(UnknownName, match="there is no op called 'rehsape'; did you mean 'reshape'"):
        lookup("rehsape")
    with pytest.raises(AttributeError, match="there is no op called 'nonsense'"):
        engine.ops.nonsense  # noqa: B018


def test_a_value_has_a_method_for_every_op() -> None:
    for op in OPS.values():
        takes_a_key_alone = op.random and len(op.inputs) == 1
        if op.name not in NOT_METHODS and not takes_a_key_alone:
            assert hasattr(Value, op.name)


def test_a_name_is_declared_once() -> None:
    def add(x: Array) -> Array:
        """Stand in the way of an op that is there."""
        return x

    with pytest.raises(AttributeValueError, match="op 'add' is declared twice"):
        primitive(shape_rule=same)(add)
    with pytest.raises(AttributeValueError, match="op 'add' is declared twice"):
        composite()(add)
    assert lookup("add").body is not add


@each_row(
    ("name", "count", "message"),
    [
        ("add", 1, r"add takes \(a, b\), got 1 input$"),
        ("add", 3, r"add takes \(a, b\), got 3 inputs$"),
        ("linear", 1, r"linear takes \(x, weight, bias\), got 1 input"),
        ("linear", 4, "got 4 inputs"),
    ],
)
def test_the_number_of_inputs_is_checked(name: str, count: int, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        OPS[name](*[np.ones((2, 2))] * count)


def test_an_optional_input_may_be_left_out_or_none() -> None:
    x, weight = np.ones((2, 3)), np.ones((4, 3))
    assert OPS["linear"](x, weight, None).shape == OPS["linear"](x, weight).shape == (2, 4)
    assert OPS["layer_norm"](x, None, np.ones(3)).shape == (2, 3)
    with pytest.raises(ShapeError, match="linear needs its input 'weight', which is null"):
        OPS["linear"](x, None, np.ones(4))
    with pytest.raises(ShapeError, match="only be left out together with the ones after it"):
        OPS["add"](None, x)


def test_nothing_is_recorded_without_a_gradient() -> None:
    assert OPS["mul"](np.ones(2), 2.0).node is None
    leaf = tensor(np.ones(2), requires_grad=True)
    assert OPS["mul"](leaf, 2.0).node is not None
    with no_grad():
        result = OPS["mul"](leaf, 2.0)
    assert result.node is None
    assert not result.requires_grad


def test_no_grad_ends_with_its_block_even_by_an_error() -> None:
    with pytest.raises(ShapeError), no_grad():
        OPS["add"](np.ones(2), np.ones(3))
    assert MODES.recording


def test_a_traced_op_runs_no_kernel_even_on_values_with_data() -> None:
    with tracing(_no_key):
        result = OPS["div"](np.ones(2), np.ones(2))
    assert result.data is None
    assert result.node is not None
    assert OPS["div"](np.ones(2), np.ones(2)).data is not None


def test_a_value_without_data_joins_a_graph() -> None:
    x = Value((2, 3), np.dtype("float32"), None)
    y = OPS["sum"](x * 2.0, axis=1)
    assert y.spec == ((2,), np.dtype("float32"))
    assert y.data is None


def test_comparisons_carry_no_gradient() -> None:
    x = tensor(np.ones(2), requires_grad=True)
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isfinite"):
        result = OPS[name](x, *([x] if len(OPS[name].inputs) == 2 else []))
        assert result.dtype == bool
        assert not result.requires_grad
        assert result.node is None


def test_kernels_run_without_warnings() -> None:
    with np.errstate(all="raise"):
        assert np.isnan(OPS["div"](np.zeros(1), np.zeros(1)).numpy()).all()


def test_an_op_with_a_mode_takes_the_one_in_force() -> None:
    modal = [op for op in OPS.values() if "training" in op.attributes]
    assert modal
    assert all(op.attributes["training"].default is None for op in modal)
    with training_mode(False):
        assert not MODES.training
    assert MODES.training


def test_a_random_op_draws_a_new_key_when_it_is_given_none() -> None:
    x = np.ones(1000)
    first, second = OPS["dropout"](x), OPS["dropout"](x)
    assert first.numpy().tolist() != second.numpy().tolist()


def test_a_random_op_under_tracing_takes_the_key_of_the_graph() -> None:
    key = Value((2,), np.dtype("int64"), None, name="key")
    with tracing(lambda: key):
        mask = OPS["dropout"](Value((3,), np.dtype("float32"), None)).node
    waiting, found = [mask], False
    while waiting:
        node = waiting.pop()
        assert node is not None
        for value in node.inputs or ():
            found = found or value is key
            waiting.extend([value.node] if value.node else [])
    assert found
