/* A copy, as fast as the machine has it: nothing that writes all of its output can be faster. */
#include <string.h>

void work(float *out, const float *in, int n) { memcpy(out, in, n * sizeof *out); }

void work_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i];
}
