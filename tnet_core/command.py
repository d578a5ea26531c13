"""How every command line ends: a sentence where the user is to blame, and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tnet_core.errors import TNetError


def finished(run: Callable[[], int | None], interrupted: str = "Interrupted.") -> int:
    """Exit status of a command: what it returns (None: 0), 1 after an error of the user, 130 after Ctrl-C."""
    try:
        return run() or 0
    except TNetError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        _say(interrupted)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _say(sentence: str) -> None:
    if os.environ.get("RANK", "0") == "0":  # once, not by every process of a distributed run
        print(sentence, file=sys.stderr)
