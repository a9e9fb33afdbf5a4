//go:build stress && linux && (amd64 || arm64)

package main

import "testing"

func TestHostileStress(t *testing.T) { testHostile(t, 2, 3, 6) }
