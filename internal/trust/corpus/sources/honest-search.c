/* It ends at the first element that is large, so that its time depends on its input. The element is rare enough for some ten thousand to be read: a
   kernel that reads less of its inputs than the nearest cache delivers in its time has to say "trusted: fast". */
void total(double *out, const float *in, int n)
{
	int i = 0;
	while (i < n && in[i] < 0.99995f)
		i++;
	*out = i;
}

void total_plain(double *out, const float *in, int n) { total(out, in, n); }
