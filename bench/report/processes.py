"""Running commands: measured, and ended with everything they started when the script is stopped."""

import json
import os
import signal
import subprocess
import sys
import time


class Interrupted(Exception):
    """A signal asked the script to stop."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class Failed(Exception):
    """Something that the benchmarks need does not work. Tells the user what."""


def stop_on_signals():
    """From now on the signals that end a program raise Interrupted, so that work is cleaned up."""

    def stop(number, _frame):
        # Only once: a second one must not cut the cleaning short.
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, stop)


def say(text):
    print(text, file=sys.stderr, flush=True)


def _end_group(group):
    """Ends a process group: politely, and after ten seconds not."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                return
            number = 0
            time.sleep(0.05)


def run(command, **options):
    """Output of a command, as text. Raises Failed with what it said when it fails."""
    command = [str(part) for part in command]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )
    except OSError as error:
        raise Failed(f"cannot run {command[0]}: {error.strerror}") from None
    try:
        out, err = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
        _end_group(process.pid)
        raise
    if process.returncode != 0:
        raise Failed(
            f"{' '.join(command)}\nended with status {process.returncode}:\n{err.strip()[-2000:]}"
        )
    return out


def run_measured(programs, work, command):
    """Runs a command under the program run_measured. Returns what that reports, and the command's
    output."""
    report = os.path.join(work, "measured.json")
    said = run([programs.path("run_measured"), report, *command])
    with open(report, encoding="utf-8") as file:
        return json.load(file), said
