//go:build stress

package model

import "testing"

// TestManySteps: as TestSteps, for the families whose layers differ more.
func TestManySteps(t *testing.T) { runSteps(t, true) }
