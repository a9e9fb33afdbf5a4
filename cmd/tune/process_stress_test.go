//go:build stress

package main

import (
	"testing"
	"time"
)

func TestKillStress(t *testing.T) { testKill(t, 150) }

func TestBudgetStress(t *testing.T) {
	testBudget(t, 500*time.Millisecond, time.Second, 3*time.Second, 10*time.Second)
}

func TestKillLibraryStress(t *testing.T) { testKillLibrary(t, 12, 8) }
