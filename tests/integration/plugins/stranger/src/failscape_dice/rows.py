"""`failscape dataset`: pictures of faces that did not come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import failscape


class DiceRows(failscape.DatasetRows):
    """Failed throws, and a file beside them that lists the faces."""

    task = "image-classification"
    about_files = "`faces.txt` lists the faces that never came."

    def rows(
        self, atlas: Any, hunt: Any, findings: Sequence[failscape.Finding], passes: bool
    ) -> Iterator[dict[str, Any]]:
        for finding in findings:
            for stored in atlas.trials(hunt.id, subject=finding.subject):
                failed = stored.trial.verdict is failscape.Verdict.FAIL
                if failed or passes:
                    yield {
                        "images": list(stored.images),
                        "face": finding.subject,
                        "failed": failed,
                        "seed": stored.trial.seed,
                        "subject": finding.subject,
                        "finding": finding.title,
                    }

    def beside(self, rows: Sequence[dict[str, Any]], folder: Path, parquet: bool) -> None:
        faces = sorted({str(row["face"]) for row in rows})
        (folder / "faces.txt").write_text("".join(f"{face}\n" for face in faces))


ROWS = DiceRows()
