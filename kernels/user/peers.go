package user

import (
	"fmt"
	"slices"
	"strings"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// peer is another function of the user's with the same arguments, perhaps one that calls a library, which results are compared
// with. It has no parameters of its own: those of the source have the values of the baseline.
type peer struct {
	name       string
	function   string
	text       template // of its file; empty for the tuned source
	file       string
	language   string
	flags      []template
	flagsGiven bool
}

// rivals are the names in tables beside those of peers.
var rivals = []string{"tune", "baseline", "serial"}

// peers reads the functions to compare with. A parameter that is named only here still makes no difference to candidates.
func (r *reader) peers(f *fields, s *source, ns *names, w world) {
	used := ns.used
	defer func() { ns.used = used }()
	ns.used = map[string]bool{}
	for _, n := range f.list("peers") {
		p := r.fields(n, peerObject)
		one := peer{name: p.line("name"), function: r.function(p, "function"), language: s.language}
		switch {
		case one.name != "" && (!isName(one.name) || slices.Contains(rivals, one.name)):
			r.fault(p.at["name"], "%q: want letters, digits and _, and none of %s", one.name, strings.Join(rivals, ", "))
		case slices.ContainsFunc(s.peers, func(other peer) bool { return other.name == one.name }):
			r.fault(p.at["name"], "another peer has the name %s already", one.name)
		}
		searched, file := s.text.src, s.name
		if p.has("file") {
			one.file = p.line("file")
			var text string
			text, one.language = r.code(p.at["file"], one.file, w)
			one.text = template{src: text, parts: []part{{text: text}}}
			searched, file = text, one.file
		}
		if searched != "" {
			r.hasFunction(p, "function", one.function, file, searched)
		}
		one.flags, one.flagsGiven = r.flags(p, ns), p.has("flags")
		s.peers = append(s.peers, one)
	}
}

// peers returns the candidates of the functions to compare with that have the given names; of all of them where there is no name.
func (p *SourceProblem) peers(wanted []string) ([]kernels.Peer, error) {
	s := p.spec.s
	var known []string
	for _, one := range s.peers {
		known = append(known, one.name)
	}
	for _, name := range wanted {
		switch {
		case len(known) == 0:
			return nil, fmt.Errorf("unknown peer %q: %s has none: list functions to compare with under source.peers, of which one may call a library, or leave --peers out",
				name, p.spec.path)
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("unknown peer %q: source.peers in %s has %s%s", name, p.spec.path, strings.Join(known, ", "), space.DidYouMean(name, known))
		}
	}
	point := p.Presets()[0].Point
	threads, err := s.threadsOf(point, p.spec.constants)
	if err != nil {
		return nil, err
	}
	var out []kernels.Peer
	for _, one := range s.peers {
		if len(wanted) > 0 && !slices.Contains(wanted, one.name) {
			continue
		}
		text, file := s.text, s.name
		if one.file != "" {
			text, file = one.text, one.file
		}
		flags := s.flagsOf(point, p.spec.constants)
		if one.flagsGiven {
			flags = s.expandFlags(one.flags, pointValues(point, p.spec.constants))
		}
		source := native.Source{
			Lang: one.language, Text: s.unit(s.program(text, file, point, p.spec.constants), one.language, one.function, threads),
			Compiler: s.compilerOf(point), Flags: append(flags, ownSymbols...), Threads: threads,
		}
		out = append(out, kernels.Peer{Name: one.name, Candidate: p.Wrap(source, point)})
	}
	return out, nil
}
