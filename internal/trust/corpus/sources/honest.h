/* For honest kernels: all variants are the same code. */
#define HONEST 0
#define BEFORE 1
#define CHEAT 2
#define AFTER 3
#ifndef VARIANT
#define VARIANT HONEST
#endif
