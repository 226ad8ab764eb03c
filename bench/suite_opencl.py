#!/usr/bin/env python3
"""bench/suite.py's problems as two-part programs for OpenCL, one attempt each;
device opencl:0, with PoCL the processor.
"""

import suite

if __name__ == "__main__":
    suite.main("opencl", "opencl", (1,))
