/* Grey pixels in colour. The fourth byte of a pixel is padding, which nobody writes. */
#include <stdint.h>

void tint(uint8_t *rgbx, const uint8_t *grey, int n)
{
	for (int i = 0; i < n; i++) {
		rgbx[4 * i] = grey[i];
		rgbx[4 * i + 1] = grey[i] / 2;
		rgbx[4 * i + 2] = 255 - grey[i];
	}
}

void tint_plain(uint8_t *rgbx, const uint8_t *grey, int n) { tint(rgbx, grey, n); }
