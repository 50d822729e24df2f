"""A plan computes what the tape computes, to the bit, in less memory."""

import json

import numpy as np
import pytest

import engine
from engine import ops
from engine.autograd.backward import pull_back
from engine.core.promotion import promote
from engine.core.shape_rules import broadcast, broadcast_bool, same, same_bool
from engine.core.value import Spec, Value
from engine.execution.plan.fusion import overwritable
from engine.execution.plan.planner import make_plan
from engine.execution.plan.printer import plan_text
from engine.execution.plan.verifier import verify_plan
from engine.graph.simplify import Instruction
from engine.ops import OPS
from tests.support.rows import each_row

X = np.array([1.5, -2.0, 3.0])
M = np.arange(12.0).reshape(3, 4) - 5


def gradient(value, *leaves):
    """Return the gradients of the sum of `value`, zeros where there is none."""
    total = ops.sum(value)
    seed = Value((), total.dtype, np.ones((), total.dtype))
    found = pull_back([total], [seed], list(leaves))
    return [leaf * 0.0 if g is None else g for g, leaf in zip(found, leaves, strict=True)]


def two_states_swap(v):
    return {}, {"s": v["t"], "t": v["s"]}


def three_states_rotate(v):
    return {"sum": v["s"] + v["t"]}, {"s": v["t"], "t": v["u"], "u": v["s"]}


def an_update_is_an_input(v):
    return {"old": v["s"]}, {"s": v["x"]}


def an_update_is_a_view_of_an_input(v):
    return {}, {"s": ops.flip(v["x"])}


def an_update_is_a_view_of_another_state(v):
    return {}, {"s": ops.flip(v["t"]), "t": v["s"] * 2.0}


def an_update_is_a_view_of_its_own_state(v):
    return {}, {"s": ops.flip(v["s"])}


def an_update_is_its_own_state(v):
    return {"twice": v["s"] * 2.0}, {"s": v["s"]}


def one_value_updates_two_states(v):
    new = v["s"] + v["x"]
    return {"new": new}, {"s": new, "t": new}


def an_update_is_read_again(v):
    new = v["s"] * 0.5
    return {"after": new + v["s"], "before": v["s"] - 1.0}, {"s": new}


def an_output_is_a_state_that_changes(v):
    return {"old": v["s"], "view": ops.flip(v["s"]), "part": v["s"][0:2]}, {"s": v["s"] + 1.0}


def an_output_is_a_state_that_stays(v):
    return {"s": v["s"], "again": v["s"]}, {}


def an_output_is_an_input(v):
    return {"x": v["x"], "flipped": ops.flip(v["x"])}, {}


def one_value_is_two_outputs(v):
    y = v["x"] * 2.0
    return {"a": y, "b": y, "c": ops.flip(y), "d": ops.reshape(y, shape=(3, 1))}, {}


def an_output_is_a_constant(v):
    return {"c": ops.copy(Value((2,), np.dtype("float64"), np.array([1.0, 2.0]))), "x": v["x"]}, {}


def a_chain_in_place(v):
    y = v["x"]
    for _ in range(6):
        y = ops.tanh(y * 1.5 + 0.25)
    return {"y": y}, {}


def a_value_is_used_after_its_successor(v):
    a = v["x"] + 1.0
    b = a * 2.0
    return {"c": b - a, "d": ops.exp(b)}, {}


def a_view_outlives_its_base(v):
    a = v["x"] * 3.0
    view = ops.reshape(a, shape=(3, 1))
    b = a + 1.0
    c = ops.exp(b)
    return {"c": c, "view": view * ops.reshape(c, shape=(3, 1))}, {}


def a_value_is_added_to_its_own_reverse(v):
    a = v["x"] * 3.0
    return {"y": a + ops.flip(a)}, {}


def a_matrix_is_added_to_its_own_transpose(v):
    a = ops.matmul(v["m"], ops.transpose(v["m"])) * 1.0
    return {"y": a + ops.transpose(a), "z": a * a}, {}


def a_reshape_of_a_transpose_copies(v):
    t = ops.transpose(v["m"] * 2.0)
    return {"y": ops.reshape(t, shape=(12,)) + 1.0, "t": t}, {}


def broadcasts_of_one_number(v):
    y = ops.broadcast_to(ops.sum(v["x"]), shape=(3, 3))
    return {"y": y, "z": y * v["x"]}, {}


def nothing_is_in_empty_values(v):
    empty = v["x"][3:]
    return {"empty": empty * 2.0, "sum": ops.sum(empty), "both": ops.concat(empty, v["x"], axis=0)}, {}


def a_pack_is_computed_in_its_place(v):
    parts = [v["x"] * 2.0, ops.exp(v["s"]), ops.sum(v["x"])]
    packed = ops.pack(*parts, offsets=(0, 8, 16), size=24)
    return {"packed": packed, "first": parts[0], "norm": ops.sum(ops.square(packed))}, {}


def a_pack_takes_one_value_twice(v):
    part = v["x"] * 2.0
    return {"packed": ops.pack(part, part, v["x"], offsets=(0, 3, 6), size=9)}, {}


def two_packs_share_a_value(v):
    part = v["x"] * 2.0
    return {
        "a": ops.pack(part, offsets=(2,), size=8),
        "b": ops.pack(v["x"], part, offsets=(0, 4), size=7) * 2.0,
        "part": part + 1.0,
    }, {}


def a_pack_updates_a_state(v):
    return {}, {"w": ops.pack(v["x"] * 2.0, offsets=(2,), size=8)}


def a_pack_of_views(v):
    part = ops.exp(v["m"])
    return {"packed": ops.pack(ops.transpose(part), part, offsets=(1, 16), size=30)}, {}


def numbers_of_several_types(v):
    index = ops.argmax(v["m"], axis=0)
    return {"index": index, "mask": v["x"] > 0.0, "picked": ops.index_select(v["m"], index), "float": index * 0.5}, {}


def gradients_of_a_small_network(v):
    h = ops.tanh(ops.matmul(v["m"], ops.reshape(v["w"][0:8], shape=(4, 2))) + v["w"][0:2])
    y = ops.softmax(h, axis=-1) * v["x"].reshape(shape=(3, 1))
    dm, dx, dw = gradient(y, v["m"], v["x"], v["w"])
    return {"y": y, "dm": dm, "dx": dx}, {"w": v["w"] - dw * 0.1}


def gradients_of_gradients(v):
    y = ops.sum(ops.exp(v["x"]) * ops.sin(v["s"]))
    (first,) = gradient(y, v["x"])
    (second,) = gradient(first * v["s"], v["s"])
    return {"first": first, "second": second}, {"s": v["s"] - second * 0.01}


def momentum(v):
    velocity = v["t"] * 0.9 + v["x"]
    return {"norm": ops.sum(ops.square(velocity))}, {"t": velocity, "s": v["s"] - velocity * 0.1}


BODIES = {
    body.__name__.replace("_", " "): body
    for name, body in list(globals().items())
    if callable(body) and getattr(body, "__code__", None) and body.__code__.co_varnames[:1] == ("v",)
}


@pytest.mark.slow
@each_row("dtype", ["float64", "float32"])
@each_row("body", BODIES.values(), ids=BODIES)
def test_a_plan_and_the_tape_give_the_same_bits(both, body, dtype):
    state = {"s": X + 1, "t": X * 2, "u": X - 7, "w": np.linspace(-1, 1, 8)}
    inputs = {"x": X, "m": M}
    both(body, cast(inputs, dtype), cast(state, dtype), runs=3).check()


def cast(arrays, dtype):
    return {name: array.astype(dtype) for name, array in arrays.items()}


def test_equal_computations_are_done_once_and_unused_ones_not_at_all(both):
    def body(v):
        unused = ops.exp(v["x"])
        assert unused is not None
        return {"a": ops.sin(v["x"]) + 1.0, "b": ops.sin(v["x"]) + 1.0}, {}

    result = both(body, {"x": X})
    result.check()
    assert [step.op.name for step in result.plan.steps] == ["sin", "add"]


def test_what_depends_on_constants_alone_is_computed_when_the_plan_is_made(both):
    def body(v):
        a = Value((6, 6), X.dtype, np.arange(36.0).reshape(6, 6))
        b = Value((6, 6), X.dtype, np.arange(36.0).reshape(6, 6) - 50)
        parts = [ops.transpose(c) * 2.0 for c in (a, b, a + b, a - b)]
        return {str(index): ops.transpose(part) + v["x"][0] for index, part in enumerate(parts)}, {}

    result = both(body, {"x": X})
    result.check()
    assert {step.op.name for step in result.plan.steps} <= {"add"}


def test_a_constant_out_of_range_is_an_error_of_the_run(both):
    def body(v):
        table = Value((2, 2), X.dtype, np.eye(2))
        return {"y": ops.embedding(table, Value((1,), np.dtype("int64"), np.array([5]))) + v["x"][0]}, {}

    with pytest.raises(engine.ShapeError, match="out of range"):
        both(body, {"x": X})


def test_the_arena_is_smaller_than_the_sum_of_the_values(both):
    def body(v):
        y = v["x"]
        for index in range(20):
            y = ops.cumsum(y, axis=0) * (1 / (index + 1))
        return {"y": y}, {}

    plan = both(body, {"x": np.ones(4096)}).plan
    total = sum(plan.buffers[number].spec.dtype.itemsize * 4096 for step in plan.steps for number in step.outputs)
    assert plan.arena_bytes <= total / 10
    assert any(step.inplace for step in plan.steps)


def alive(plan):
    """Yield the buffers that overlap in memory while both hold what will still be read."""
    last = {}
    for index, step in enumerate(plan.steps):
        for number in step.inputs:
            last[number] = index
    for number in plan.outputs.values():
        last[number] = len(plan.steps)
    created = {number: index for index, step in enumerate(plan.steps) for number in step.outputs}
    for a, first in created.items():
        for b, second in created.items():
            if first < second < last.get(a, first):
                yield a, b


def extent(plan, number):
    buffer = plan.buffers[number]
    allocation = plan.allocations[buffer.allocation]
    start = buffer.offset + allocation.offset
    size = int(np.prod(buffer.spec.shape, dtype=np.int64)) * buffer.spec.dtype.itemsize
    return (allocation.kind == "arena", buffer.allocation if allocation.kind != "arena" else 0), start, start + size


def test_no_value_that_will_be_read_shares_memory_with_a_later_one():
    definition = engine.parse_graph(
        {
            "inputs": {"x": ["batch", 6], "t": {"shape": ["batch"], "dtype": "int64"}},
            "layers": [
                {"layer": "linear", "units": 8, "activation": "gelu"},
                "layer_norm",
                {"layer": "linear", "units": 3},
            ],
            "loss": "cross_entropy",
        }
    )
    plan, _ = engine.plan_report(definition, 5, {"kind": "adamw"})
    pairs = 0
    for a, b in alive(plan):
        (room_a, start_a, end_a), (room_b, start_b, end_b) = extent(plan, a), extent(plan, b)
        pairs += 1
        assert room_a != room_b or end_a <= start_b or end_b <= start_a, (a, b)
    assert pairs > 100


IN_PLACE = [op for op in OPS.values() if op.takes_out and op.shape_rule in (broadcast, broadcast_bool, same, same_bool)]


@pytest.mark.slow
@each_row("op", IN_PLACE, ids=lambda op: op.name)
def test_a_kernel_that_may_overwrite_an_input_gives_the_same_bits_over_it(op):
    assert overwritable(Instruction(op, (0, 1), (2,), {}), 2) == (0, 1)
    for number, sample in enumerate(op.samples):
        arrays = sample.arrays(f"{op.name} {number}")
        values = [Value(array.shape, array.dtype, array) for array in arrays]
        promoted = promote(op, tuple(values), OPS["cast"]) if op.promotion != "none" else values
        attrs = op.bind(sample.attrs)
        attrs = {**attrs, "training": True} if "training" in attrs else attrs
        spec = op.shape_rule(*promoted, **attrs)
        with np.errstate(all="ignore"):
            expected = op.body(*(value.data for value in promoted), **attrs)
            for index, value in enumerate(promoted):
                if value.spec == spec:
                    copies = [value.data.copy() for value in promoted]
                    op.body(*copies, **attrs, out=copies[index])
                    np.testing.assert_array_equal(copies[index], expected)


def test_a_result_lies_over_no_other_input_than_the_one_its_op_names():
    vector, number = Spec((3,), np.dtype("float64")), Spec((), np.dtype("float64"))
    names = ("gradient", "parameter", "momentum", "share")
    leaves = {name: Value(*(number if name == "share" else vector), None, name=name) for name in names}
    lr = Value(*number, None, name="lr")
    state = {name: leaves[name] for name in ("parameter", "momentum")}
    inputs = {"gradient": leaves["gradient"], "share": leaves["share"], "lr": lr}
    stepped, kept = OPS["momentum_update"](
        leaves["gradient"], leaves["parameter"], leaves["momentum"], leaves["share"], leaves["share"], lr
    )
    straight = make_plan(inputs, state, {}, {"parameter": stepped, "momentum": kept})
    crossed = make_plan(inputs, state, {}, {"parameter": kept, "momentum": stepped})
    assert (len(straight.copies), len(crossed.copies)) == (0, 2)


@pytest.mark.parametrize(("turned", "straight"), [(False, True), (True, False)])
def test_a_state_is_not_written_over_while_other_shards_read_parts_of_it_along_another_axis(
    turned, straight, monkeypatch
):
    monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: 2)
    float64 = np.dtype(np.float64)
    x, c, p = (Value(shape, float64, None) for shape in ((64, 4), (32, 128), (128, 128)))
    # Shards make columns of the product from columns of its second operand, and rows of the update: rows of p.
    view = ops.transpose(p)
    product = ops.matrix_product(c, view, transpose_b=turned)
    update = p - ops.exp(ops.transpose(ops.matmul(ops.transpose(c), c)))
    plan = make_plan(
        {"x": x, "c": c}, {"p": p}, {"y": ops.exp(x), "product": product}, {"p": update}, rows=["x"], most_shards=2
    )
    assert plan.shards == 2
    assert bool(plan.copies) is not straight


def test_what_all_shards_need_whole_is_no_view_of_one_part(monkeypatch):
    monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: 2)
    x = Value((2, 2, 3, 1), np.dtype(np.float64), None)
    # Split along an axis of which a part has extent 1: the part is in order, so that a view reshapes it, the whole not.
    middle = ops.exp(ops.permute(x, axes=(1, 0, 2, 3)))
    rows = ops.reshape(ops.reshape(ops.permute(middle, axes=(0, 2, 1, 3)), shape=(2, 3, 2)), shape=(6, 2))
    plan = make_plan({"x": x}, {}, {"sums": ops.cumsum(rows, axis=1)}, {}, rows=["x"], most_shards=2)
    assert plan.shards == 2
    verify_plan(plan)


@pytest.mark.parametrize(
    ("rows", "many", "by_rows"), [(64, 1000, True), (8, 1000, True), (2, 1000, False), (64, 512, True), (8, 512, False)]
)
def test_a_batch_is_cut_by_rows_where_its_summands_are_few_beside_it(rows, many, by_rows, monkeypatch):
    monkeypatch.setattr("engine.execution.plan.sharding.MANY_SUMMANDS", many)
    monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: 2)
    x, w = Value((rows, 512), np.dtype(np.float64), None), Value((512, 1), np.dtype(np.float64), None)
    (update,) = gradient(ops.square(ops.matmul(x, w)), w)
    plan = make_plan({"x": x}, {"w": w}, {}, {"w": w - update}, rows=["x"], most_shards=2)
    assert plan.phases[0].sharded is by_rows
    assert plan.shards == 2


@pytest.mark.parametrize(
    ("rows", "columns", "outputs", "shards"),
    [
        (256, 4096, 1, 8),
        (128, 4096, 1, 4),
        (256, 4096, 16, 2),  # bound by its products
        (64, 16384, 1, 2),  # eight rows of a shard for each summand
        (1024, 8192, 1, 2),  # too large for a cache by eighths
    ],
)
def test_shards_stay_in_a_cache_where_memory_bounds_the_steps(rows, columns, outputs, shards):
    x, w = (Value(shape, np.dtype(np.float32), None) for shape in ((rows, columns), (columns, outputs)))
    (update,) = gradient(ops.square(ops.matmul(x, w)), w)
    plan = make_plan({"x": x}, {"w": w}, {}, {"w": w - update}, rows=["x"], most_shards=8)
    assert plan.shards == shards


def test_products_by_columns_are_split_as_the_operand_that_shards_have_computed(monkeypatch):
    monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: 2)
    x, w, v = (Value(shape, np.dtype(np.float64), None) for shape in ((64, 256), (128, 256), (192, 128)))
    hidden = ops.matrix_product(x, w, transpose_b=True)
    update, _ = gradient(ops.sum(ops.square(ops.matrix_product(hidden, v, transpose_b=True))), w, v)
    plan = make_plan({"x": x}, {"w": w, "v": v}, {}, {"w": w - update}, rows=["x"], most_shards=2)
    made = [[plan.buffers[plan.steps[step].outputs[0]].spec.shape for step in phase.steps] for phase in plan.phases]
    (phase,) = (shapes for shapes in made if (64, 256) in shapes)
    assert (64, 64) in phase, "the gradient of rows of w waits for that of all hidden units"


def readable():
    definition = engine.parse_graph(
        {"inputs": {"x": ["batch", 2]}, "parameters": {"w": [2]}, "program": "loss = mean((x @ w) ** 2)"}
    )
    return engine.plan_report(definition, 4, {"kind": "sgd", "momentum": 0.9})


def test_a_plan_reads_as_text():
    plan, _ = readable()
    text = plan_text(plan)
    lines = text.splitlines()
    assert lines[-1] == f"# {len(plan.steps)} steps, arena {plan.arena_bytes} bytes, {plan.flops} operations"
    assert len(lines) == len(plan.steps) + len(plan.copies) + 1
    assert any("matrix_product(" in line for line in lines)
    assert any("# in place" in line for line in lines)


def test_a_plan_reads_as_json():
    plan, report = readable()
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    names = {buffer["name"] for buffer in report["buffers"]}
    assert len(names) == len(report["buffers"])
    assert all({*step["inputs"], *step["outputs"]} <= names for step in report["steps"])
    assert report["flops"] == sum(step["flops"] for step in report["steps"]) > 0
    assert report["peak_bytes"] >= report["arena_bytes"] > 0
    assert report["training"] is True
    assert plan.peak_bytes == report["peak_bytes"]
