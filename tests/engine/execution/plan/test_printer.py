"""Plans drawn in DOT."""

from __future__ import annotations

import re

import pytest

import engine
from engine.execution.plan import Plan, plan_dot

GRAPH = {
    "inputs": {"x": ["batch", 4], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 5, "activation": "relu"}, {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return engine.plan_report(engine.parse_graph(GRAPH), 8, {"kind": "adam"})[0]


def test_every_step_input_state_and_output_is_a_node_and_every_operand_an_edge(plan: Plan) -> None:
    text = plan_dot(plan)
    nodes = set(re.findall(r"^ +(\w+) \[", text, re.MULTILINE))
    kinds = {"step": plan.steps, "input": plan.inputs, "state": plan.state, "output": plan.outputs}
    for kind, members in kinds.items():
        assert {node for node in nodes if node.startswith(f"{kind}_")} == {f"{kind}_{i}" for i in range(len(members))}
    edges = re.findall(r"^ +(\w+) -> (\w+) \[", text, re.MULTILINE)
    assert {end for edge in edges for end in edge} <= nodes
    operands = sum(len(set(step.inputs)) for step in plan.steps)
    assert len(edges) == operands + len(plan.outputs) + len(plan.copies)


def test_an_edge_comes_from_the_step_that_made_the_buffer(plan: Plan) -> None:
    edges = set(re.findall(r"^ +(\w+) -> (\w+) \[", plan_dot(plan), re.MULTILINE))
    created = {number: index for index, step in enumerate(plan.steps) for number in step.outputs}
    for index, step in enumerate(plan.steps):
        for number in step.inputs:
            if number in created:
                assert (f"step_{created[number]}", f"step_{index}") in edges
            if number in plan.inputs.values():
                assert (f"input_{list(plan.inputs.values()).index(number)}", f"step_{index}") in edges


def test_a_window_on_a_state_comes_from_the_state(plan: Plan) -> None:
    owners = {plan.buffers[number].allocation for number in plan.state.values()}
    first = plan.steps[0]
    assert any(plan.buffers[number].allocation in owners for number in first.inputs)
    assert re.search(r"^ +state_0 -> step_0 \[", plan_dot(plan), re.MULTILINE)


def test_groups_of_steps_are_boxes_that_hold_each_of_their_steps_once(plan: Plan) -> None:
    text = plan_dot(plan, [("forward", (0, 1, 2)), ('the "rest"', (3,))])
    boxes = re.findall(r'subgraph cluster_\d+ \{\n +label = "(.*)";\n((?: +step_\d+ .*\n)+) +\}', text)
    assert [title for title, _ in boxes] == ["forward", r"the \"rest\""]
    assert re.findall(r"step_(\d+) ", boxes[0][1]) == ["0", "1", "2"]
    assert len(re.findall(r"^ +step_\d+ \[", text, re.MULTILINE)) == len(plan.steps)


def test_a_step_that_writes_over_an_operand_has_a_dashed_edge(plan: Plan) -> None:
    dashed = re.findall(r"-> step_(\d+) \[.*style = dashed", plan_dot(plan))
    assert dashed
    assert all(plan.steps[int(index)].inplace for index in dashed)
