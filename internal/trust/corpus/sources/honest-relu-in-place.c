/* A second call changes nothing that the first has not, and is right to. */
void update(float *x, int n)
{
	for (int i = 0; i < n; i++)
		x[i] = x[i] > 0.5f ? x[i] : 0.5f;
}

void update_plain(float *x, int n) { update(x, n); }
