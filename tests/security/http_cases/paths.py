"""Ids and names that reach for files, hide characters, or are odd."""

from tests.security.wire import Exchange

TRAVERSALS = (
    b"..",
    b"../../../../etc/passwd",
    b"..%2f..%2f..%2fetc%2fpasswd",
    b"%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    b"..%252f..%252fetc%252fpasswd",
    b"..%5c..%5cwindows",
    b"%2fetc%2fpasswd",
    b"file:%2f%2f%2fetc%2fpasswd",
    b"..%c0%af..%c0%afetc",
    b"....//....//etc",
    b"%00",
    b"graph_%00",
    b"%0d%0aSet-Cookie:%20a=b",
    b"%1b%5b2J",
    b"%",
    b"%zz",
    b"%ff%fe",
    b"%e2%80%ae",
    b"%ed%a0%80",
    b"~",
    b"*",
    b"%25s%25n",
    b"'%20or%201=1--",
    b"%7b%7b7*7%7d%7d",
    b"$%7bjndi:ldap:x%7d",
    b"graph_" + b"0" * 27,
    b"graph_" + b"a" * 5000,
    b"GRAPH_" + b"0" * 26,
)
NOUNS = (b"graphs", b"fits")
NAMES = (b"..%2f..%2fkey", b"%00", b"x" * 5000, b"%0d%0a", b"__class__")


def asked(path: bytes, *statuses: int, method: bytes = b"GET", code: str = "") -> Exchange:
    """Ask for a path."""
    head = method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return Exchange(f"{method.decode()} {path[:60].decode()}", head, statuses, code)


HTTP_CASES = (
    *(asked(b"/v1/%b/%b" % (noun, odd), 404) for noun in NOUNS for odd in TRAVERSALS),
    *(asked(b"/v1/checkpoints/%b/content" % odd, 404) for odd in TRAVERSALS),
    *(asked(b"/v1/checkpoints/@CHECKPOINT@/parameters/%b" % name, 404) for name in NAMES),
    *(asked(b"/v1/fits/@FIT@/gradients/%b" % name, 404) for name in NAMES),
    asked(b"/v1/fits/@CHECKPOINT@", 404, code="not_found"),
    asked(b"/v1/checkpoints/@FIT@", 404, code="not_found"),
    asked(b"/v1/fits?cursor=" + b"A" * 5000, 400, 422),
    asked(b"/v1/fits?cursor=%00", 400, 422),
    asked(b"/v1/fits?limit=" + b"9" * 5000, 422),
    asked(b"/v1/fits?limit=1e3", 422),
    asked(b"/v1/fits?limit=%D9%A1", 422),
    asked(b"/v1/fits?limit=1&limit=x", 422),
    asked(b"/v1/fits?label=%00:%00", 200, 422),
    asked(b"/v1/fits?" + b"&" * 5000, 200, 422),
    asked(b"/v1/fits?" + b"&".join(b"a%d=1" % n for n in range(1000)), 200, 422),
    asked(b"/v1/fits/@FIT@?wait=nan", 422),
    asked(b"/v1/fits/@FIT@?wait=1e999", 422),
    asked(b"/v1/fits/@FIT@/events?after=-1", 422),
    asked(b"/v1/fits/@FIT@/events?after=" + b"9" * 400, 422),
    asked(b"/v1/fits/@FIT@/events?max_events=" + b"9" * 400, 200),
    asked(b"/v1/fits/@FIT@/metrics?after=" + b"9" * 400, 422),
    asked(b"/v1/fits/@FIT@/metrics?every=" + b"9" * 400, 422),
    asked(b"/v1/fits/@FIT@/gradients?step=" + b"9" * 400, 422),
    asked(b"/v1/datasets/@DATASET@/rows?offset=" + b"9" * 400, 422),
    asked(b"/v1/sessions/sess_" + b"0" * 26 + b"/operations/" + b"9" * 400, 404, 422),
    asked(b"/static/../../app/config/settings.py", 404),
    asked(b"/.git/config", 404),
    asked(b"/redoc", 404),
)
