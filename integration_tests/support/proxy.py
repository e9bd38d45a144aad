"""A proxy between a client and PostgreSQL, on Unix sockets, that cuts connections at COMMIT."""

from __future__ import annotations

import socket
import threading
from enum import Enum, auto
from pathlib import Path

COMMIT = b"COMMIT\x00"
BEGIN = b"BEGIN "
_SHUTDOWN_FIELDS = b"SFATAL\x00C57P01\x00Mterminating connection\x00\x00"
# The message of a server that shuts down. A pooler may pass it on late, in front of the reply to
# the client's next command.
_SHUTDOWN = b"E" + (len(_SHUTDOWN_FIELDS) + 4).to_bytes(4, "big") + _SHUTDOWN_FIELDS


class Cut(Enum):
    """When the connection breaks."""

    BEFORE = auto()  # the server never sees the COMMIT, and notices that the client is gone
    AFTER = auto()  # the server has committed and answered; the answer gets lost
    SILENT = auto()  # the server never sees the COMMIT, and does not notice anything


class CommitCutter:
    """Listens in `folder` as PostgreSQL would, and passes everything on to the one in `server`."""

    def __init__(self, folder: Path, server: str) -> None:
        self.cut: Cut | None = None
        self.confused: bytes | None = None  # the command that gets a second reply
        self.refuses = False
        self.cuts = 0
        self._server = f"{server}/.s.PGSQL.5432"
        self._held: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/.s.PGSQL.5432")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for connection in self._held:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        replies = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        replies.start()
        while data := _receive(client):
            if COMMIT in data and self.cut is not None:
                self._break(client, server, data)
                return
            if self.confused is not None and self.confused in data:
                self.confused = None
                client.sendall(_SHUTDOWN)
            server.sendall(data)
        _shut(server)

    def _break(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        cut, self.cut = self.cut, None
        self.cuts += 1
        # The client hears nothing any more, whatever the server says.
        client.shutdown(socket.SHUT_RDWR)
        if cut is Cut.AFTER:
            server.sendall(data)
        if cut is Cut.SILENT:
            self._held.append(server)
        else:
            # The server reads what it was sent before it sees the end.
            server.shutdown(socket.SHUT_WR)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    while data := _receive(source):
        try:
            target.sendall(data)
        except OSError:
            continue  # the client is gone, and the server shall still be heard out
    _shut(target)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already
