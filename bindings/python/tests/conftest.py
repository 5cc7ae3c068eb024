"""Fixtures of the tests of the package."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from provider import Provider, Server


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A scripted provider."""
    server = Server()
    yield server.provider
    server.shutdown()
    server.server_close()
