package gemmi8

import (
	"fmt"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// oneDNN computes the same integers in every form of the weights, bit by bit, and where weights are packed ahead it is given those of the
// inputs of each call. Timed calls are verified.
func TestPeers(t *testing.T) {
	nativetest.Here(t)
	kernel := Kernel{Host: nativetest.Host()}
	for _, weights := range []string{"f32", "int8", "packed"} {
		for _, relu := range []string{"no", "yes"} {
			if (weights == "f32" && relu == "yes") || (weights == "int8" && relu == "no") {
				continue // each word beside one of the other field
			}
			shape, err := kernels.ParseShape(kernel.Info().Shape, fmt.Sprintf("m=70,n=45,k=90,weights=%s,relu=%s", weights, relu))
			if err != nil {
				t.Fatal(err)
			}
			problem, err := kernel.Problem(shape)
			if err != nil {
				t.Fatal(err)
			}
			problem.(*native.Problem).Brief()
			machine := nativetest.Here(t)
			if unfit := (peers.Quantised{}).Unfit(machine.ISAs); unfit != "" {
				if _, err := problem.Traits().Peers([]string{"dnnl"}); err == nil || !strings.Contains(err.Error(), unfit) {
					t.Errorf("got %v, want what says that oneDNN %s", err, unfit)
				}
				continue
			}
			list, err := problem.Traits().Peers(nil)
			if err != nil || len(list) != 1 || list[0].Name != "dnnl" {
				t.Fatalf("got %+v, %v", list, err)
			}
			if list[0].Candidate == nil {
				t.Skip("dnnl: " + list[0].Install)
			}
			if err := kernels.Verify(t.Context(), list[0].Candidate, []uint64{1, 2}); err != nil {
				t.Errorf("weights=%s,relu=%s: %v", weights, relu, err)
				continue
			}
			if relu == "yes" {
				continue
			}
			if _, err := list[0].Candidate.Score(t.Context(), 0); err != nil {
				t.Errorf("weights=%s,relu=%s: timed: %v", weights, relu, err)
			}
		}
	}
}
