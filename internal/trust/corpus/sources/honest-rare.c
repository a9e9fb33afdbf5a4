/* How often an event occurs that hardly ever does: different inputs have the same result. */
void total(double *out, const float *in, int n)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += in[i] > 0.999999f;
	*out = count > 1;
}

void total_plain(double *out, const float *in, int n) { total(out, in, n); }
