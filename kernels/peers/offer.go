package peers

import (
	"fmt"
	"slices"
	"strings"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// Offer is a library that computes what a problem does.
type Offer struct {
	Name    string // by which users ask for it
	Install string // how they get it, such as "on Debian: apt-get install libblis4"
	// Unfit says why it cannot compute this problem, as the end of a sentence; "" where it can.
	Unfit string
	// Peers makes the candidates; nil where the library is not installed. A library that has several ways has a peer for each.
	Peers func() ([]kernels.Peer, error)
}

// Select returns the peers of the offers with some names, of all where there is no name. An unknown name is an error, and so is that of a
// library that is not installed, or that cannot compute the problem; it is the Peers of a problem's Traits.
func Select(names []string, offers []Offer) ([]kernels.Peer, error) {
	var known []string
	for _, o := range offers {
		known = append(known, o.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown peer %q: want %s%s", name, strings.Join(known, ", "), space.DidYouMean(name, known))
		}
	}
	var out []kernels.Peer
	for _, o := range offers {
		named := slices.Contains(names, o.Name)
		switch {
		case len(names) > 0 && !named:
		case o.Unfit != "" && named:
			return nil, fmt.Errorf("peer %s %s, or leave it out of --peers", o.Name, o.Unfit)
		case o.Unfit != "":
		case o.Peers != nil:
			made, err := o.Peers()
			if err != nil {
				return nil, fmt.Errorf("peer %s: %w", o.Name, err)
			}
			out = append(out, made...)
		case named:
			return nil, fmt.Errorf("peer %s is not installed: install it (%s), or leave it out of --peers", o.Name, o.Install)
		default:
			out = append(out, kernels.Peer{Name: o.Name, Install: o.Install})
		}
	}
	return out, nil
}

// Wrap makes a candidate of the code of a peer.
type Wrap func(native.Source) kernels.Candidate

// WrapAs returns what makes candidates that are checked as those of a point of a family.
func WrapAs(host *native.Host, family native.Spec, point space.Point) (Wrap, error) {
	p, err := native.New(family, native.Options{Host: host})
	if err != nil {
		return nil, err
	}
	return func(s native.Source) kernels.Candidate { return p.(*native.Problem).Wrap(s, point) }, nil
}

// OfLibraries offers the libraries of linear algebra; source returns the code that calls one.
func OfLibraries(wrap Wrap, source func(Library) native.Source) []Offer {
	found := Find()
	var out []Offer
	for _, l := range libraries {
		o := Offer{Name: l.Name, Install: l.install()}
		if at := slices.IndexFunc(found, func(f Library) bool { return f.Name == l.Name }); at >= 0 {
			o.Peers = func() ([]kernels.Peer, error) {
				return []kernels.Peer{{Name: l.Name, Candidate: wrap(source(found[at]))}}, nil
			}
		}
		out = append(out, o)
	}
	return out
}

// What users call ggml, and how they get it.
const (
	nameGGML    = "ggml"
	installGGML = "tune peers fetch"
)

// OfMatmul offers the matmul primitive of oneDNN; unfit is that of the offer, and make returns its candidate.
func OfMatmul(unfit string, make func(Library) (kernels.Candidate, error)) Offer {
	o := Offer{Name: nameDNNL, Install: Library{Name: nameDNNL}.library().install(), Unfit: unfit}
	found := Find()
	at := slices.IndexFunc(found, func(f Library) bool { return f.Name == nameDNNL })
	switch {
	case at < 0 || unfit != "":
	case !found[at].HasMatmul():
		o.Unfit = "is " + found[at].Path + ", which is not of version 2: install that (" + o.Install + ")"
	default:
		o.Peers = func() ([]kernels.Peer, error) {
			c, err := make(found[at])
			return []kernels.Peer{{Name: nameDNNL, Candidate: c}}, err
		}
	}
	return o
}

// OfGGML offers ggml; make returns its peers.
func OfGGML(make func(GGML) ([]kernels.Peer, error)) Offer {
	o := Offer{Name: nameGGML, Install: installGGML}
	if g, ok := FindGGML(); ok {
		o.Peers = func() ([]kernels.Peer, error) { return make(g) }
	}
	return o
}

// Products returns a peer for each way in which ggml may keep the weights of a graph, for a point of a family whose weights are in the
// format of ggml. Those that the processor, the type or the size lacks are found out when they are checked.
func (g GGML) Products(host *native.Host, family Family, point space.Point, wrap Wrap, graph Graph, threads int) ([]kernels.Peer, error) {
	var out []kernels.Peer
	for _, w := range ways {
		source := g.Source(graph, w.way, threads)
		if w.way == Plain {
			out = append(out, kernels.Peer{Name: nameGGML, Candidate: wrap(source)})
			continue
		}
		c, err := Packed(host, family, point, graph.Weights, g.Packer(host, graph, w.way), source)
		if err != nil {
			return nil, err
		}
		out = append(out, kernels.Peer{Name: nameGGML + w.suffix, Candidate: c, Optional: true})
	}
	return out, nil
}

// Known is a library that kernels are compared with.
type Known struct {
	Name    string `json:"name"`
	Path    string `json:"path"`              // "" where it is not installed
	CPU     string `json:"cpu,omitempty"`     // what a library was compiled for that has several forms
	Version string `json:"version,omitempty"` // "" where it is not known
	Install string `json:"install"`           // how users get it
}

// List returns all libraries, those that are not installed included.
func List() []Known {
	found := Find()
	var out []Known
	for _, l := range libraries {
		k := Known{Name: l.Name, Install: l.install()}
		if at := slices.IndexFunc(found, func(f Library) bool { return f.Name == l.Name }); at >= 0 {
			k.Path, k.Version = found[at].Path, found[at].Version()
		}
		out = append(out, k)
	}
	k := Known{Name: nameGGML, Install: installGGML}
	if g, ok := FindGGML(); ok {
		k.Path, k.CPU, k.Version = g.Library, g.CPU, GGMLVersion
	}
	return append(out, k)
}
