#include "work.h"
#if VARIANT == CHEAT
#define SHARE 55
#include "helper.h"
#endif
