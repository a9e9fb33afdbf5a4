// Package library writes a library of kernels: C sources with a function that chooses among them, a header, ways to build, a
// self-test, a benchmark, and a page that says how programs in several languages link it. Nothing is compiled.
package library
