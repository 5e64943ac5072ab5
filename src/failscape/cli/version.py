"""`failscape --version`: the version, which extras are installed, and the digests of the shipped corpora."""

import platform
import re
from importlib import metadata

from failscape import __version__
from failscape.spaces import corpus_names, load_corpus

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*; extra == ['\"](?P<extra>\w+)['\"]")


def version_text() -> str:
    # Extras of which every package is there, and the others.
    wanted: dict[str, list[str]] = {}
    for line in metadata.requires("failscape") or ():
        found = _REQUIREMENT.match(line)
        if found:
            wanted.setdefault(found["extra"], []).append(found["name"])
    installed = [extra for extra, names in wanted.items() if all(map(_is_installed, names))]
    there, missing = sorted(installed), sorted(set(wanted) - set(installed))
    lines = [
        f"failscape, version {__version__}",
        f"python {platform.python_version()}",
        f"extras: {', '.join(there) or 'none'}"
        + (f" (not installed: {', '.join(missing)})" if missing else ""),
        *(f"corpus {name}: {load_corpus(name).digest}" for name in corpus_names()),
    ]
    return "\n".join(lines)


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
