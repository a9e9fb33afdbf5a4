/* It ends at the first element that is large, so that its time depends on its input. */
void total(double *out, const float *in, int n)
{
	int i = 0;
	while (i < n && in[i] < 0.9995f)
		i++;
	*out = i;
}

void total_plain(double *out, const float *in, int n) { total(out, in, n); }
