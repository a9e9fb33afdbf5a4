package results

import (
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tune/space"
)

// TestPartsOfAJournal: whatever a caller does not want of the outcomes, it reads the rest as it is.
func TestPartsOfAJournal(t *testing.T) { formats(t, testPartsOfAJournal) }

func testPartsOfAJournal(t *testing.T, format int) {
	path := filepath.Join(t.TempDir(), JournalName)
	rapid.Check(t, func(t *rapid.T) {
		if err := os.WriteFile(path, encode(t, genLog(t), format), 0o666); err != nil {
			t.Fatal(err)
		}
		stored := Stored{path: path, size: -1}
		third := func(e *space.Entry) bool { return e.Number%3 == 0 }
		end := End{Told: rapid.IntRange(0, 20).Draw(t, "told")}
		all := collectRounds(t, end.Trim(stored).Rounds())
		some := []string{"a", "c"}
		for _, c := range []struct {
			name   string
			rounds iter.Seq2[space.Round, error]
			same   func(got, want *space.Entry) bool
		}{
			{"only some outcomes", Only(end.Trim(stored), third), func(got, want *space.Entry) bool {
				whole := got.Key == want.Key && reflect.DeepEqual(got.Outcome.Metrics, want.Outcome.Metrics)
				return whole || !third(want) && (got.Key == someKey || got.Key == want.Key) && got.Outcome.Metrics == nil
			}},
			{"parts of keys", Parts(end.Trim(stored), some), func(got, want *space.Entry) bool {
				return reflect.DeepEqual(pairsOf(got.Key, some), pairsOf(want.Key, some))
			}},
			{"values", trimmed{History: stored, told: end.Told}.orAll(stored.Asked(third, nil)), func(got, want *space.Entry) bool {
				key := got.Key == want.Key || !third(want) && got.Key == someKey && got.Written != nil
				return key && (got.Written == nil || got.Written.Key() == want.Key) && reflect.DeepEqual(got.Outcome.Metrics, want.Outcome.Metrics)
			}},
		} {
			got := collectRounds(t, c.rounds)
			if len(got) != len(all) {
				t.Fatalf("%s: %d batches of %d", c.name, len(got), len(all))
			}
			for i, r := range got {
				if r.Batch != all[i].Batch || len(r.Entries) != len(all[i].Entries) {
					t.Fatalf("%s: batch %+v with %d outcomes, want %+v with %d", c.name, r.Batch, len(r.Entries), all[i].Batch, len(all[i].Entries))
				}
				for k := range r.Entries {
					one, want := r.Entries[k], all[i].Entries[k]
					if !c.same(&one, &want) {
						t.Fatalf("%s: %+v, want %+v", c.name, one, want)
					}
					one.Key, one.Written, one.Outcome.Metrics = want.Key, nil, want.Outcome.Metrics
					if !reflect.DeepEqual(one, want) {
						t.Fatalf("%s: %+v, want %+v", c.name, one, want)
					}
				}
			}
		}
	})
}

// orAll is trim where there is something to trim.
func (t trimmed) orAll(rounds iter.Seq2[space.Round, error]) iter.Seq2[space.Round, error] {
	if t.told == 0 {
		return rounds
	}
	return t.trim(rounds)
}

func collectRounds(t *rapid.T, rounds iter.Seq2[space.Round, error]) (out []space.Round) {
	for r, err := range rounds {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// pairsOf lists what a key says of some parameters; nothing where it cannot be split.
func pairsOf(key string, params []string) (pairs []string) {
	err := space.SplitKey(key, func(name, text string) {
		if slices.Contains(params, name) {
			pairs = append(pairs, name+"="+text)
		}
	})
	if err != nil {
		return nil
	}
	return pairs
}
