/* Never ends for the preprocessor, but for its own limit. */
#include "/source/program.c"
