/* A polynomial of every element, and the reference that computes it. */
#ifndef PLAIN_H
#define PLAIN_H

#ifndef TERMS
#define TERMS 64
#endif
enum { DEGREE = TERMS };

static inline float polynomial(float x)
{
	float y = 1;
	for (int k = 0; k < DEGREE; k++)
		y = y * x + 0.75f;
	return y;
}

void work_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}

#endif
