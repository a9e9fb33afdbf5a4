// form=naive compiler=gcc opt=O3 mtune=default isa=native loops=ikj
// gcc -O3 -ffp-contract=fast -march=native
// C = A·B, asked for M=64 N=64 K=64 and right for any: args are A, B, C and dims M, N, K.
typedef long i64;

void tune_kernel(void *const *args, const i64 *dims) {
	const float *restrict a = args[0], *restrict b = args[1];
	float *restrict c = args[2];
	const i64 m = dims[0], n = dims[1], k = dims[2];
	for (i64 i = 0; i < m * n; i++) c[i] = 0;
	for (i64 i = 0; i < m; i++) {
		for (i64 p = 0; p < k; p++)
			for (i64 j = 0; j < n; j++)
				c[i * n + j] += a[i * k + p] * b[p * n + j];
	}
}
