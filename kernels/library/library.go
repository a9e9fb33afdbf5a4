package library

import (
	"tune/kernels/native"
)

// Library is a set of functions that programs link: a few kernels each, and what chooses among them.
type Library struct {
	Name      string // the prefix of every symbol, and of the names of files
	About     string // a line about where it comes from
	Functions []Function
	// Manifest is written as manifest.json as it stands; nil writes none.
	Manifest []byte
}

// Function is a function of a library. Programs call it by the name of the library, an underscore, and its own.
type Function struct {
	Name     string
	About    string // a line: C = A·B
	Linkage  native.Linkage
	Variants []Variant
	// Tree chooses among the variants, by the dimensions of the shape: those of the linkage that have no dense one.
	Tree Tree
	// Shapes are dimensions of the shape at which the self-test checks each variant too, such as those that a variant is tuned for.
	Shapes [][]int64
}

// Variant is one kernel of a function.
type Variant struct {
	Source native.Source
	Point  string // which it is, in a line
	Tuned  string // what it was tuned for, in a line
}

// Tree chooses a variant by the dimensions of a shape.
type Tree interface {
	// C returns statements of C, each line indented by one tab, in which the dimensions are variables of type int64_t. They return the
	// number of a variant for all dimensions from 1 on.
	C(dims []string) string
}
