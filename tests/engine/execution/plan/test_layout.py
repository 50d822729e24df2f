"""Views are laid out without a look at elements, which at that time are nowhere."""

import engine

EXTENT = 40_000  # several gigabytes in all


def test_a_reshape_that_needs_a_copy_is_laid_out_without_making_it():
    definition = engine.parse_graph(
        {
            "inputs": {"x": [EXTENT, EXTENT]},
            "parameters": {"w": []},
            "program": f"t = permute(x, axes=[1, 0])\nflat = reshape(t, shape=[{EXTENT**2}])\nloss = w * sum(flat)",
        }
    )
    _, report = engine.plan_report(definition, batch=1, optimizer={"kind": "sgd", "lr": 0.1})
    assert report["arena_bytes"] >= 4 * EXTENT**2
