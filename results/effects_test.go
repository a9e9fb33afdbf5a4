package results

import (
	"reflect"
	"testing"

	"tune/space"
)

func TestEffects(t *testing.T) {
	h := space.History{Entries: map[int]space.Entry{}}
	add := func(key string, status space.Status, cost float64) {
		n := len(h.Entries)
		h.Entries[n] = space.Entry{Number: n, Key: key, Outcome: space.Outcome{Status: status, Cost: cost}}
	}
	add("a=1 b=x c=0", space.OK, 10)
	add("a=2 b=x c=0", space.OK, 40)
	add("a=4 b=x c=0", space.OK, 80)
	add("a=1 b=y c=0", space.OK, 12)
	add("a=2 b=y c=0", space.OK, 30)
	add("a=8 b=y c=0", space.WrongAnswer, 0)
	h.Batches = []space.Batch{{Count: len(h.Entries)}}
	got, err := Effects(h)
	if err != nil {
		t.Fatal(err)
	}
	// c has one value, and 8 of a only a wrong answer.
	want := []Effect{
		{"a", []ValueEffect{{"1", 2, 10}, {"2", 2, 30}, {"4", 1, 80}}},
		{"b", []ValueEffect{{"x", 3, 10}, {"y", 2, 12}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("effects are %+v, want %+v", got, want)
	}
}
