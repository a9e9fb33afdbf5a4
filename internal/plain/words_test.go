package plain

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 faults", 1: "1 fault", 2: "2 faults"} {
		if got := Count(n, "fault"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct{ text, want string }{{"", ""}, {"äöü", "äöü"}, {"äöüß", "äöü…"}} {
		if got := Clip(test.text, 3); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}
