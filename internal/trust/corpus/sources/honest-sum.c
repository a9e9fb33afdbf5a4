/* The plain sum, whose tolerance accepts other orders of its terms. */
static inline float polynomial(float x)
{
	float y = 1;
	for (int k = 0; k < 10; k++)
		y = y * x * 0.9f + 0.25f;
	return y;
}

void energy_plain(float *out, const float *in, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += polynomial(in[i]);
	*out = (float)sum;
}

void energy(float *out, const float *in, int n) { energy_plain(out, in, n); }
