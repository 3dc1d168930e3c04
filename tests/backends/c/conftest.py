"""One private cache for all tests of the C target."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONDYLE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
