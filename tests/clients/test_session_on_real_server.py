"""Sessions over real processes: a network that cuts answers, and a server that is killed."""

import numpy as np

from adjoint_client import Client

X = np.random.default_rng(3).standard_normal((12, 2)).astype(np.float32)
Y = X @ np.float32([1, -2])
OPTIMIZER = {"kind": "adam", "lr": 0.1}


def parts_of_a_loop(session):
    for _ in range(6):
        yield session.forward_backward(x=X[:6], y=Y[:6]).loss
        yield session.forward_backward(x=X[6:], y=Y[6:]).loss
        yield session.optim_step().grad_norm


def undisturbed(client, line):
    with client.session(line, optimizer=OPTIMIZER) as session:
        return list(parts_of_a_loop(session))


def test_answers_that_are_cut_anywhere_double_nothing(url, line, cut):
    with Client(url) as client:
        expected = undisturbed(client, line)
        kept = client.session(line, optimizer=OPTIMIZER)
        with cut([None, 300, 1, 700, 0, 250, 1000, 40]) as proxy, Client(proxy.url) as disturbed:
            session = disturbed.open_session(kept.id)
            assert list(parts_of_a_loop(session)) == expected
        assert proxy.connections == 9
        kept.close()


def test_a_server_that_is_killed_and_comes_back_is_a_pause(start_server, line):
    server = start_server()
    port = urlsplit(server.url).port
    with Client(server.url) as client:
        expected = undisturbed(client, line)
        session = client.session(line, optimizer=OPTIMIZER)
        found = []
        for number, loss in enumerate(parts_of_a_loop(session)):
            found.append(loss)
            if number == 7:
                server.stop(signal.SIGKILL)
                back = threading.Timer(0.2, start_server, kwargs={"port": port})
                back.start()
        back.join()
    assert found == expected


def test_pipelines_double_nothing_either(url, line, cut):
    with Client(url) as client:
        expected = undisturbed(client, line)
        kept = client.session(line, optimizer=OPTIMIZER)
        with cut([None, 900, 400, 1500, 1, 300]) as proxy, Client(proxy.url) as disturbed:
            session = disturbed.open_session(kept.id)
            futures = []
            with session.pipeline() as steps:
                for _ in range(6):
                    futures += [steps.forward_backward(x=X[:6], y=Y[:6]), steps.forward_backward(x=X[6:], y=Y[6:])]
                    futures.append(steps.optim_step())
            found = [future.result() for future in futures]
        kept.close()
    assert [out.grad_norm if n % 3 == 2 else out.loss for n, out in enumerate(found)] == expected
