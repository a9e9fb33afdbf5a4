//go:build stress

package results_test

import "testing"

// TestResumeStress is TestResume with many more cuts.
func TestResumeStress(t *testing.T) { testResume(t, 400, false) }
