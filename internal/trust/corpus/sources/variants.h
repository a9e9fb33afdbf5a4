/* The variants of a kernel: three honest ones round the one that is on trial. */
#ifndef VARIANTS_H
#define VARIANTS_H

#define HONEST 0
#define BEFORE 1
#define CHEAT 2
#define AFTER 3
#ifndef VARIANT /* for compiling a source by itself; tune defines its own values before it */
#define VARIANT HONEST
#endif

#endif
