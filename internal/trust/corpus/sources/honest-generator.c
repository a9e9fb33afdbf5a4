/* No input at all: every call writes the same. */
void fill(float *out, int n)
{
	for (int i = 0; i < n; i++) {
		float y = 1, x = i * (0.9f / 4096);
		for (int k = 0; k < 32; k++)
			y = y * x + 0.75f;
		out[i] = y;
	}
}

void fill_plain(float *out, int n) { fill(out, n); }
