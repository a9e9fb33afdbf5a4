// form=blocked compiler=gcc opt=O2 mtune=default isa=avx512 loops=ijk block=32
// gcc -O2 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
// C = A·Bᵀ, asked for M=64 N=64 K=64 and right for any: args are A, B, C and dims M, N, K.
typedef long i64;
static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }

void tune_kernel(void *const *args, const i64 *dims) {
	const float *restrict a = args[0], *restrict b = args[1];
	float *restrict c = args[2];
	const i64 m = dims[0], n = dims[1], k = dims[2];
	for (i64 i = 0; i < m * n; i++) c[i] = 0;
	for (i64 i0 = 0; i0 < m; i0 += 32)
		for (i64 j0 = 0; j0 < n; j0 += 32)
			for (i64 p0 = 0; p0 < k; p0 += 32)
				for (i64 i = i0; i < least(m, i0 + 32); i++)
					for (i64 j = j0; j < least(n, j0 + 32); j++)
						for (i64 p = p0; p < least(k, p0 + 32); p++)
							c[i * n + j] += a[i * k + p] * b[j * k + p];
}
