package space

import "testing"

// TestDirected: a goal without a direction takes that of its metric, one that says it keeps it, and the canonical text means the same again.
func TestDirected(t *testing.T) {
	maximised := []string{"q", "error"}
	for text, want := range map[string]string{
		"":                      "",
		"cost":                  "cost",
		"cost, q":               "cost,q:maximise",
		"cost,q:5%,r":           "cost,q:maximise:5%,r",
		"cost,q:minimise,error": "cost,q:minimise,error:maximise",
		"cost,r:maximise,q":     "cost,r:maximise,q:maximise",
	} {
		goals, err := ParseGoals(Directed(text, maximised), "things")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := goals.Text(maximised)
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		again, err := ParseGoals(Directed(got, maximised), "things")
		if err != nil || again.Text(maximised) != got || again.String() != goals.String() {
			t.Errorf("%q is %q the second time (%v)", got, again.Text(maximised), err)
		}
	}
}
