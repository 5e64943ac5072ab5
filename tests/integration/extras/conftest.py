"""Tiny untrained models of real architectures, made once a session and shared: nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    from tools.tiny_pipelines import save_pipeline

    root = tmp_path_factory.mktemp("pipelines")

    def folder(kind: str) -> Path:
        place = root / kind
        return place if place.exists() else save_pipeline(kind, place)

    return folder
