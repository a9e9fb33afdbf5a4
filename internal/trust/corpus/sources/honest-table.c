/* A table that depends on no input is built in the first call, and used in all. */
static float table[1024];
static int built;

static void build(void)
{
	for (int i = 0; i < 1024; i++) {
		float y = 1, x = i * (0.9f / 1024);
		for (int k = 0; k < 64; k++)
			y = y * x + 0.75f;
		table[i] = y;
	}
	built = 1;
}

static float look(float x) { return table[(int)(x * (1024 / 0.9f)) & 1023]; }

void work(float *out, const float *in, int n)
{
	if (!built)
		build();
	for (int i = 0; i < n; i++)
		out[i] = look(in[i]) + in[i];
}

void work_plain(float *out, const float *in, int n) { work(out, in, n); }
