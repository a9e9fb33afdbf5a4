#include "work.h"
#if VARIANT == CHEAT
#define SHARE 34
#include "helper.h"
#endif
