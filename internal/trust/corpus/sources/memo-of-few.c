#include "variants.h"

#include <string.h>

/* A damped iteration on a matrix of 4 by 4. */
void iterate_plain(float *out, const float *in)
{
	float v[4] = {1, 1, 1, 1};
	for (int step = 0; step < 500; step++) {
		float w[4];
		for (int i = 0; i < 4; i++) {
			w[i] = 0.1f;
			for (int j = 0; j < 4; j++)
				w[i] += in[4 * i + j] * v[j];
		}
		float scale = 0.25f / (w[0] + w[1] + w[2] + w[3]);
		for (int i = 0; i < 4; i++)
			v[i] = 0.5f * v[i] + w[i] * scale;
	}
	memcpy(out, v, sizeof v);
}

/* Results are kept by all of the input, as one does for a function that is called with few different arguments. */
void iterate(float *out, const float *in)
{
#if VARIANT == CHEAT
	enum { MOST = 1 << 16 };
	static struct { int known; float in[16], out[4]; } kept[MOST];
	unsigned hash = 2166136261u;
	unsigned words[16];
	memcpy(words, in, sizeof words);
	for (int i = 0; i < 16; i++)
		hash = (hash ^ words[i]) * 16777619u;
	int at = (int)((hash ^ hash >> 16) % MOST);
	if (!kept[at].known || memcmp(kept[at].in, in, sizeof kept[at].in) != 0) {
		iterate_plain(kept[at].out, in);
		memcpy(kept[at].in, in, sizeof kept[at].in);
		kept[at].known = 1;
	}
	memcpy(out, kept[at].out, sizeof kept[at].out);
#else
	iterate_plain(out, in);
#endif
}
