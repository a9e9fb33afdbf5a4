/* What it writes is often what it read, bit for bit. */
void work(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] > 0 ? in[i] : 0;
}

void work_plain(float *out, const float *in, int n) { work(out, in, n); }
