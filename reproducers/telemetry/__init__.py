"""Who answers at an endpoint, and what it counts: a module for each kind of server."""

from __future__ import annotations

from benchlint.reproducers.http_client import HttpClient
from benchlint.reproducers.telemetry import llama_server, lm_studio, none, sglang, vllm
from benchlint.reproducers.telemetry.base import Answer, Measured, SharedServerError, Telemetry

__all__ = ["Answer", "Measured", "SharedServerError", "Telemetry", "identify"]


def identify(client: HttpClient, model: str) -> Telemetry:
    """Ask a server what it is, by the address that only its kind knows.

    Raises EngineGoneError where nobody answers; who answers but is not known is `none`.
    """
    return (
        llama_server.identify(client, model)
        or vllm.identify(client, model)
        or sglang.identify(client, model)
        or lm_studio.identify(client, model)
        or none.NoTelemetry(client, model)
    )
