/* tune defines LANES and UNROLL; these defaults are for compiling the file without tune. */
#ifndef LANES
#define LANES 1
#endif
#ifndef UNROLL
#define UNROLL 1
#endif

void sum(const float *x, float *total, int n)
{
	float lane[LANES] = {0};
	int i = 0;
	for (; i + LANES * UNROLL <= n; i += LANES * UNROLL)
		for (int u = 0; u < UNROLL; u++)
			for (int j = 0; j < LANES; j++)
				lane[j] += x[i + u * LANES + j];
	float t = 0;
	for (int j = 0; j < LANES; j++)
		t += lane[j];
	for (; i < n; i++)
		t += x[i];
	*total = t;
}

/* The reference, written to be obviously right. */
void sum_plain(const float *x, float *total, int n)
{
	double t = 0;
	for (int i = 0; i < n; i++)
		t += x[i];
	*total = (float)t;
}
