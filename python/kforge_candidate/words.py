"""What went wrong in a program, as a few lines that show its own lines."""

import linecache
import os
import traceback

from kforge_reference.failure import is_memory, is_trouble

LINES_MAX = 4       # of the program, the innermost ones
MESSAGE_MAX = 260


class Wrong(Exception):
    """What a program did wrong: end is one of protocol's, text a sentence."""

    def __init__(self, end, text):
        super().__init__(text)
        self.end = end
        self.text = text


def shorten(text, most=MESSAGE_MAX):
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[:most - 4] + " ..."


def _own_lines(folder, error):
    """(file, line number, function, text) of the program's own frames."""
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith(folder + os.sep):
            lines.append((os.path.basename(frame.filename), frame.lineno,
                          frame.name, frame.line or ""))
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((os.path.basename(error.filename), error.lineno or 0,
                      "<module>", (error.text or "").strip()))
    return lines[-LINES_MAX:]


def of_error(folder, error):
    """The error's type and message, then the program's lines on the way to it,
    innermost last."""
    linecache.checkcache()
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    lines = ["%s: %s" % (type(error).__name__, shorten(message))
             if message else type(error).__name__]
    for file, number, function, text in _own_lines(folder, error):
        where = "" if function == "<module>" else ", in %s" % function
        lines.append("  %s, line %d%s: %s" % (file, number, where,
                                              shorten(text, 80)))
    return "\n".join(lines)


def end_of(error, protocol):
    """Which end of a call an exception is."""
    if isinstance(error, Wrong):
        return error.end
    if isinstance(error, SystemExit):
        return protocol.EXITED
    if is_trouble(error):
        return protocol.DEVICE
    return protocol.MEMORY if is_memory(error) else protocol.EXCEPTION
