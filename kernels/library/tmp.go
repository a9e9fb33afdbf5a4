package library

func (l Library) Files() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, f := range l.Functions {
		out["tree.c"] = []byte(f.Tree.C([]string{"m", "n", "k"}))
	}
	return out, nil
}
