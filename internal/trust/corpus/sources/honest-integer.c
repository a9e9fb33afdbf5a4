/* Whole numbers, and a checksum that has to be exact. */
#include <stdint.h>

void mix(uint32_t *out, uint64_t *sum, const uint32_t *in, const uint8_t *bytes, int n)
{
	uint64_t s = 0;
	for (int i = 0; i < n; i++) {
		uint32_t x = in[i] ^ bytes[i];
		for (int k = 0; k < 16; k++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
		}
		out[i] = x;
		s += x;
	}
	*sum = s;
}

void mix_plain(uint32_t *out, uint64_t *sum, const uint32_t *in, const uint8_t *bytes, int n) { mix(out, sum, in, bytes, n); }
