"""A server for OpenSSH's `ssh` on this host: `ssh_server.py FOLDER USER`, until it is ended.

It lets in whoever has the key of the file FOLDER/user, runs commands in a shell, and forwards
sockets and ports. FOLDER/port says where it listens. A server of OpenSSH would have to be
installed, and have a user of its own.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import asyncssh

FOLDER = Path(sys.argv[1])


class Server(asyncssh.SSHServer):
    """Lets one user in by key, and forwards what that wants."""

    def begin_auth(self, username):
        return True

    def public_key_auth_supported(self):
        return True

    def validate_public_key(self, username, key):
        own = asyncssh.read_public_key(FOLDER / "user.pub")
        return username == sys.argv[2] and key == own

    def connection_requested(self, dest_host, dest_port, orig_host, orig_port):
        return True

    def unix_connection_requested(self, dest_path):
        return True


async def command(process):
    given = await process.stdin.read()
    pipe = subprocess.PIPE
    child = await asyncio.create_subprocess_shell(
        process.command, stdin=pipe, stdout=pipe, stderr=pipe
    )
    said, complained = await child.communicate(given)
    process.stdout.write(said)
    process.stderr.write(complained)
    process.exit(child.returncode)


async def serve():
    for name in ["host", "user"]:
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(FOLDER / name)
        key.write_public_key(FOLDER / f"{name}.pub")
        (FOLDER / name).chmod(0o600)
    server = await asyncssh.create_server(
        Server,
        "127.0.0.1",
        0,
        server_host_keys=[FOLDER / "host"],
        process_factory=command,
        encoding=None,
    )
    (FOLDER / "port.new").write_text(str(server.get_port()))
    (FOLDER / "port.new").rename(FOLDER / "port")
    await asyncio.Event().wait()


asyncio.run(serve())
