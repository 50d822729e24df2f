"""Which tests show what became of the incidents of comparable servers here, by their numbers; and that they exist.

Which number stands for what: no key on an open server (S1), surprise listeners (S2), DNS rebinding (S3), foreign pages
(S4), addresses made from requests (S5), paths (S6), imports by path or address (S7), requests made for clients (S8),
pickles (S9), code in documents (S10), attributes and expressions (S11), links and external data (S12), `.npy` (S13),
zip bombs (S14), safetensors (S15), Parquet (S16), nesting (S17), numbers (S18), texts (S19), coercion (S20), ranges
(S21), forms (S22), smuggling and log escapes (S23), slow clients (S24), secrets (S25), cancelled requests (S26),
authorisation (S27), CSV (S28), patterns (S29), graph bombs (S30), compressed bodies (S31), the supply chain (S32).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HTTP_CASES = "security/test_http_cases.py::test_hostile_bytes_are_answered_as_the_table_says"
UPLOADS = "security/test_http.py::test_hostile_uploads_leave_the_server_as_it_was"
BOMBS = "security/test_graphs.py::test_a_bomb_is_refused_within_little_memory"
BOMBS_SENT = "security/test_http.py::test_graph_bombs_leave_the_server_as_it_was"
TEXTS = "app/http/test_strict_json.py::test_what_readers_could_understand_differently_is_refused"
TEXTS_SENT = "app/http/test_strict_json.py::test_hostile_bodies_are_answered_with_a_problem"
REFERENCES = "security/test_documents.py::test_a_reference_that_reaches_for_a_file_is_none"

SHOWN: dict[str, tuple[str, ...]] = {
    "S1": (
        "app/test_cli.py::test_a_strangers_address_is_refused_without_a_key_in_one_line",
        "app/test_cli.py::test_wrong_settings_are_refused_in_one_line",
        "app/config/test_settings.py::test_another_address_is_refused_without_allowed_hosts",
        "deploy/test_container_files.py::test_the_server_is_published_on_loopback_only_and_wants_a_key",
    ),
    "S2": ("security/test_http_cases.py::test_nothing_else_is_listened_on_while_a_fit_and_a_session_run",),
    "S3": (HTTP_CASES, "app/http/test_authentication.py::test_a_foreign_host_is_refused"),
    "S4": (HTTP_CASES, "app/http/test_authentication.py::test_pages_of_other_sites_cannot_change_anything"),
    "S5": (
        HTTP_CASES,
        "security/test_http_cases.py::test_no_answer_holds_the_host_that_was_asked",
        "architecture/test_attack_surface.py::test_no_address_is_made_from_what_a_client_says_the_address_is",
    ),
    "S6": (HTTP_CASES, REFERENCES),
    "S7": ("architecture/test_attack_surface.py::test_no_request_names_an_address_or_a_path",),
    "S8": (
        "architecture/test_attack_surface.py::test_the_server_connects_to_nobody",
        "security/test_connections.py::test_no_process_of_the_server_connects_to_anybody",
    ),
    "S9": (
        "architecture/test_attack_surface.py::test_nothing_is_run_that_comes_from_a_file_or_a_message",
        UPLOADS,
    ),
    "S10": (BOMBS, BOMBS_SENT),
    "S11": (BOMBS, "security/test_documents.py::test_a_value_of_another_type_is_not_taken_for_what_it_could_mean"),
    "S12": (
        BOMBS,
        UPLOADS,
        "security/test_http_cases.py::test_a_file_that_is_a_link_is_not_sent",
        "app/store/blobs/test_local.py::test_what_is_planted_in_the_place_of_a_blob_is_not_read",
    ),
    "S13": (UPLOADS, "app/ingest/test_npy.py::test_a_hostile_file_is_refused_with_its_code"),
    "S14": (
        UPLOADS,
        "app/ingest/test_npz.py::test_a_hostile_archive_is_refused_with_its_code",
        "app/ingest/test_ingest.py::test_the_child_is_confined_while_it_reads",
    ),
    "S15": (UPLOADS, "app/ingest/test_safetensors.py::test_a_hostile_file_is_refused_with_its_code"),
    "S16": (
        UPLOADS,
        "app/ingest/test_parquet.py::test_a_hostile_file_is_refused_with_its_code",
        "app/ingest/test_parquet.py::test_what_a_file_says_of_types_of_its_own_is_not_looked_at",
    ),
    "S17": (TEXTS, TEXTS_SENT),
    "S18": (
        TEXTS,
        TEXTS_SENT,
        "app/api/test_metrics.py::test_every_route_of_a_fit_that_diverges_answers_with_what_is_json",
    ),
    "S19": (TEXTS, TEXTS_SENT),
    "S20": ("security/test_documents.py::test_a_value_of_another_type_is_not_taken_for_what_it_could_mean",),
    "S21": (HTTP_CASES, "security/test_http_cases.py::test_no_range_takes_long"),
    "S22": (HTTP_CASES, "security/test_http_cases.py::test_nothing_that_reads_forms_is_installed_with_the_server"),
    "S23": (HTTP_CASES, "security/test_http_cases.py::test_every_request_is_one_line_of_the_log"),
    "S24": (
        "security/test_slow_clients.py::test_headers_that_do_not_come_are_not_waited_for",
        "security/test_slow_clients.py::test_bodies_that_hardly_come_are_not_waited_for",
        "chaos/test_slow_clients.py::test_hundreds_that_do_not_go_on_hold_nobody_up",
    ),
    "S25": (
        "app/test_secrets.py::test_a_key_is_shown_to_nobody",
        "app/test_secrets.py::test_a_key_is_in_no_file_and_no_log",
        "app/api/test_access.py::test_no_secret_is_found_where_it_does_not_belong",
    ),
    "S26": (
        "security/test_clients_that_leave.py::test_nobody_gets_an_answer_that_was_meant_for_one_who_left",
        "security/test_clients_that_leave.py::test_a_step_whose_client_has_gone_is_carried_out_once",
    ),
    "S27": (
        "app/api/test_access.py::test_only_a_good_key_with_the_right_scope_reaches_a_route",
        "app/api/test_tenants.py::test_things_of_another_tenant_are_not_there",
        "app/api/test_tenants.py::test_nobody_can_refer_to_things_of_another_tenant",
    ),
    "S28": (UPLOADS, "app/ingest/test_csv.py::test_a_hostile_file_is_refused_with_its_code"),
    "S29": (TEXTS, "architecture/test_patterns.py::test_no_pattern_repeats_what_takes_more_or_less"),
    "S30": (BOMBS, BOMBS_SENT, "security/test_graphs.py::test_what_is_large_and_good_is_taken_within_little_memory"),
    "S31": (HTTP_CASES,),
    "S32": (
        "deploy/test_audit.py::test_every_requirement_is_pinned_to_one_version",
        "deploy/test_audit.py::test_known_vulnerabilities_and_packages_nothing_is_known_of_are_distinguished",
    ),
}


def written_in(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name


@pytest.mark.parametrize("number", [f"S{number}" for number in range(1, 33)])
def test_every_incident_has_tests_that_exist(number: str) -> None:
    assert SHOWN[number]
    for shown in SHOWN[number]:
        path, _, name = shown.partition("::")
        assert name in {*written_in(TESTS / path)}, shown
