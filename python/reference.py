#!/usr/bin/env python3
"""The PyTorch side of kforge: makes bundles and times the reference.

    reference.py bundle REQUEST.json    writes a bundle (docs/bundles.md)
    reference.py serve REQUEST.json     runs eager calls on demand

It runs in a sandbox, since a problem file is a program that nobody has
reviewed, under any Python from 3.8 with torch 1.13 or 2.x and needs no other
package. Everything it has to say goes into files and descriptors that the
request names; what the problem prints is nobody's result.
"""

import errno
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


EXIT_NO_TORCH = 3
EXIT_NO_SPACE = 4


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("bundle", "serve"):
        sys.stderr.write(__doc__)
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        request = json.load(file)
    try:
        import torch    # noqa: F401 - is it there, and whole?
    except Exception as error:
        sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
        return EXIT_NO_TORCH
    if sys.argv[1] == "bundle":
        from kforge_reference import bundle
        try:
            bundle.main(request)
        except OSError as error:    # not even the result could be written
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            return EXIT_NO_SPACE
    else:
        from kforge_reference import serve
        serve.main(request)
    # The problem may have left threads or exit handlers behind: leave now.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
