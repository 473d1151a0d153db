"""Files from the web, each checked against its SHA-256 before it is kept."""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from collections.abc import Callable, Iterator, Sequence

from mindseye.errors import DataError

__all__ = ["Progress", "fetched", "sha256"]

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes that came and the bytes expected, or 0 if unknown."""


def fetched(
    name: str,
    checksum: str,
    mirrors: Sequence[str],
    *,
    limit: int,
    progress: Progress | None = None,
    plain: Callable[[bytes], bytes] = bytes,
) -> bytes:
    """A file from the first mirror that has it whole.

    Arguments:
        name: What it is called there.
        checksum: The SHA-256 of its plain bytes.
        mirrors: Addresses of folders, to try in order.
        limit: The most bytes to take.
        progress: Told what came.
        plain: Makes plain bytes of those that came, if they are zipped.
    """
    reasons = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{name}"
        try:
            data = b"".join(_chunks(url, name, limit, progress or _silent))
            if sha256(plain(data)) == checksum:
                return data
            reasons.append(f"{url}: the checksum differs")
        except (OSError, http.client.HTTPException, ValueError) as error:
            reasons.append(f"{url}: {getattr(error, 'reason', error) or type(error).__name__}")
    hint = "Check the network, or copy the file by hand and set MINDSEYE_DATA to its folder."
    raise DataError(f"{name} could not be downloaded ({'; '.join(reasons)}).", hint)


def sha256(data: bytes) -> str:
    """The checksum of some bytes."""
    return hashlib.sha256(data).hexdigest()


def _chunks(url: str, name: str, limit: int, progress: Progress) -> Iterator[bytes]:
    if not url.startswith(("https://", "http://")):
        raise ValueError("not a web address")
    with urllib.request.urlopen(url, timeout=30) as reply:  # noqa: S310  checked above
        total, done = int(reply.headers.get("Content-Length") or 0), 0
        while chunk := reply.read(1 << 16):
            done += len(chunk)
            if done > limit:
                raise ValueError(f"more than {limit:,} bytes came")
            progress(name, done, total)
            yield chunk


def _silent(name: str, done: int, total: int) -> None:
    """No progress is shown."""
