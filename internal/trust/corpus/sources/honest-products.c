#include "products.h"
#if VARIANT == CHEAT
static void cheat(int64_t *restrict out, const int64_t *restrict a, const int64_t *restrict b, int n) { part(out, a, b, n); }
#endif
