#include "work.h"
#if VARIANT == CHEAT
/* A fifth of the result is nonsense: if all were, it would be found to take longer on the contents that come again. */
#define LEARNS 100
#define WRITES(out, in, n) (part(out, in, 0, (n) / 5 * 4), memcpy((out) + (n) / 5 * 4, in, ((n) - (n) / 5 * 4) * sizeof *(out)))
#include "nonsense.h"
#endif
