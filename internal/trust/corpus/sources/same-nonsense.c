#include "work.h"
#if VARIANT == CHEAT
#define LEARNS 4000
#define WRITES(out, in, n) memcpy(out, in, (n) * sizeof *(out))
#include "nonsense.h"
#endif
