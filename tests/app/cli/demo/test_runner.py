import pytest

from app.cli.demo.runner import ServerDidNotStart, running_server


def test_a_server_that_cannot_start_says_why(tmp_path):
    with pytest.raises(ServerDidNotStart, match="workers"), running_server(tmp_path, {"ADJOINT_WORKERS": "none"}):
        pass
