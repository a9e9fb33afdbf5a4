/* tile_load_passing is tile_load with the hint that the nearest cache need not keep what is loaded: it is used once. */
#ifndef TUNE_EMULATED_TILES
#define tile_load_passing(t, from, stride) \
	__asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t :: "r"(from), "r"((int64_t)(stride)) : "memory")
#else
#define tile_load_passing tile_load
#endif
