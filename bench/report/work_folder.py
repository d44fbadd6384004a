"""Where inputs and outputs lie while they are needed."""

import fcntl
import os
import shutil
import tempfile

from .processes import Failed, say

PREFIX = "synps-bench-"
LOCK = "lock"


class WorkFolder:
    """A new folder in `parent`, removed at the end. One that a killed run left there is removed
    first: a running one holds a lock on a file in its folder."""

    def __init__(self, parent):
        self.parent = parent
        self.path = None
        self._lock = None

    def __enter__(self):
        try:
            os.makedirs(self.parent, exist_ok=True)
            self._remove_left_over()
            self.path = tempfile.mkdtemp(prefix=PREFIX, dir=self.parent)
        except OSError as error:
            raise Failed(f"cannot use the folder {self.parent}: {error.strerror}") from None
        self._lock = open(self.file(LOCK), "w", encoding="utf-8")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def _remove_left_over(self):
        for name in os.listdir(self.parent):
            folder = os.path.join(self.parent, name)
            try:
                # Made by this user, and with a lock that nobody holds.
                if not name.startswith(PREFIX) or os.lstat(folder).st_uid != os.getuid():
                    continue
                with open(os.path.join(folder, LOCK), "r+", encoding="utf-8") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    say(f"removing {folder}, which a run left that was killed")
                    shutil.rmtree(folder, ignore_errors=True)
            except OSError:
                continue

    def file(self, name):
        return os.path.join(self.path, name)

    def remove(self, name):
        try:
            os.remove(self.file(name))
        except FileNotFoundError:
            pass


def free_bytes(folder):
    """Of the file system that `folder` is on or, where it does not exist yet, would be."""
    folder = os.path.abspath(folder)
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder).free


def file_system(folder):
    """Type of the file system that a folder is on ("ext4", "tmpfs"), "" when unknown."""
    folder = os.path.realpath(folder)
    best, kind = "", ""
    try:
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            for line in mounts:
                _, point, kind_here = line.split()[:3]
                inside = folder == point or folder.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, kind_here
    except OSError:
        pass
    return kind
