/* Never ends for the preprocessor, but for its own limit. */
#include "program.c"
