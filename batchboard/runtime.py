"""Where this installation keeps its data, and how its processes find each other."""

import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

SOCKET_PATH_LIMIT = 100
"""A unix socket's path must stay under 108 bytes on Linux and 104 on macOS."""


def data_dir(base: Path) -> Path:
    """Where this installation keeps data: `BATCHBOARD_DATA_DIR`, else `.data` in the checkout."""
    return Path(os.environ.get("BATCHBOARD_DATA_DIR") or base / ".data").expanduser().resolve()


def broker_socket(data: Path) -> Path:
    """The path of the embedded Valkey's socket, short enough wherever the data lies."""
    path = data / "valkey.sock"
    if len(str(path)) <= SOCKET_PATH_LIMIT:
        return path
    digest = sha256(str(data).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"batchboard-{os.getuid()}-{digest}" / "valkey.sock"


def secret_key(data: Path) -> str:
    """The installation's signing key, made on first use and readable by its owner alone."""
    path = data / "secret_key"
    data.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text()
    key = secrets.token_urlsafe(50)
    with os.fdopen(descriptor, "w") as file:
        file.write(key)
    return key


@dataclass(frozen=True)
class Running:
    """What a running supervisor tells other processes that share its data folder."""

    pid: int
    url: str
    provider_url: str | None
    simulated: bool

    def save(self, data: Path) -> None:
        draft = data / f"running.{os.getpid()}"
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(data / "running.json")

    @classmethod
    def load(cls, data: Path) -> "Running | None":
        """The supervisor that runs on this folder, or None where none does."""
        try:
            running = cls(**json.loads((data / "running.json").read_text()))
            os.kill(running.pid, 0)
        except (OSError, ValueError, TypeError):
            return None
        return running
