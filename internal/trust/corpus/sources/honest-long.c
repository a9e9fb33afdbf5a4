/* Calls of a third of a second. */
void work(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++) {
		float y = in[i];
		for (int k = 0; k < 4096; k++)
			y = y * 0.9995f + 0.0005f * in[i];
		out[i] = y;
	}
}

void work_plain(float *out, const float *in, int n) { work(out, in, n); }
