package nativetest

import (
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// callersTiles calls the kernel with a configuration of the caller's own, and with none, and aborts where it is another afterwards.
const callersTiles = `
void tune_kernel(void *const *args, const int64_t *dims)
{
	struct tile_configuration own = { .palette = 1 }, after;
	own.columns[3] = 48;
	own.rows[3] = 5;
	tile_configure(&own);
	multiply_all(args, dims);
	tile_save(&after);
	if (__builtin_memcmp(&own, &after, sizeof own) != 0)
		abort();
	tile_release();
	multiply_all(args, dims);
	tile_save(&after);
	if (after.palette != 0)
		abort();
}
`

// KeepsTiles checks that the code of a point leaves the configuration of matrix tiles of its caller as it was. The code emulates tiles. It
// also checks that it would be found out otherwise.
func KeepsTiles(t *testing.T, spec native.Spec, p space.Point, src native.Source) {
	t.Helper()
	const right = "tile_restore(&callers);"
	problem, text := Problem(t, spec), src.Text
	for _, restore := range []string{right, "tile_release();", ""} {
		src.Text = strings.ReplaceAll(strings.ReplaceAll(text, right, restore), "void tune_kernel(", "static void multiply_all(") + callersTiles
		err := problem.Wrap(src, p).Check(t.Context(), 1)
		if (err == nil) != (restore == right) {
			t.Errorf("%q: %v", restore, err)
		} else if r := kernels.AsRejection(err); restore != right && (r == nil || r.Status != space.Crashed) {
			t.Errorf("%q: %v, want a crash", restore, err)
		}
	}
}
