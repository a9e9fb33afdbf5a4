/* The defaults are for compiling this file by itself; tune defines its own values before it. */
#ifndef LANES
#define LANES 8
#endif
#ifndef ROWS
#define ROWS 1
#endif

/* out[i] is the sum of row i: ROWS rows side by side, each in LANES sums. */
void row_sums(double *restrict out, const float *restrict in, int rows, int cols)
{
	int i = 0;
	for (; i + ROWS <= rows; i += ROWS) {
		const float *from = in + (long)i * cols;
		double sum[ROWS][LANES] = { { 0 } };
		int j = 0;
		for (; j + LANES <= cols; j += LANES)
			for (int r = 0; r < ROWS; r++)
				for (int l = 0; l < LANES; l++)
					sum[r][l] += from[(long)r * cols + j + l];
		for (int r = 0; r < ROWS; r++) {
			double all = 0;
			for (int l = 0; l < LANES; l++)
				all += sum[r][l];
			for (int rest = j; rest < cols; rest++)
				all += from[(long)r * cols + rest];
			out[i + r] = all;
		}
	}
	for (; i < rows; i++) {
		double all = 0;
		for (int j = 0; j < cols; j++)
			all += in[(long)i * cols + j];
		out[i] = all;
	}
}

void row_sums_plain(double *out, const float *in, int rows, int cols)
{
	for (long i = 0; i < rows; i++) {
		double all = 0;
		for (long j = 0; j < cols; j++)
			all += in[i * cols + j];
		out[i] = all;
	}
}
