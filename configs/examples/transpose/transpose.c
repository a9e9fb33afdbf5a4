/* The defaults are for compiling this file by itself; tune defines its own values before it. */
#ifndef TILE_I
#define TILE_I 1
#endif
#ifndef TILE_J
#define TILE_J 1
#endif
#ifndef BY_COLUMN
#define BY_COLUMN 0
#endif

static int min(int a, int b) { return a < b ? a : b; }

void transpose(float *restrict out, const float *restrict in, int n)
{
	for (int i0 = 0; i0 < n; i0 += TILE_I)
		for (int j0 = 0; j0 < n; j0 += TILE_J) {
			int i1 = min(i0 + TILE_I, n), j1 = min(j0 + TILE_J, n);
#if BY_COLUMN
			for (int j = j0; j < j1; j++)
				for (int i = i0; i < i1; i++)
					out[(long)j * n + i] = in[(long)i * n + j];
#else
			for (int i = i0; i < i1; i++)
				for (int j = j0; j < j1; j++)
					out[(long)j * n + i] = in[(long)i * n + j];
#endif
		}
}

void transpose_plain(float *out, const float *in, int n)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			out[j * n + i] = in[i * n + j];
}
