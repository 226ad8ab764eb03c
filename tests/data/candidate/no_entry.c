#include <kforge/program.h>
static int helper(void) { return 1; }
