// Package gguf reads tensors of GGUF files, in which ggml's models are kept, so that kernels are tuned on the weights of a real
// model.
//
// # The file
//
// A GGUF file of version 2 or 3 has, one after the other and little-endian
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md):
//
//  1. "GGUF", the version, the number of tensors and that of values
//  2. the values, each a key, a type and what it says of the model; general.alignment is one
//  3. the tensors, each a name, dimensions, a type and where its data begins
//  4. the data, from the next multiple of the alignment on
//
// Open reads and checks 1 to 3, the header. Tensor.Read reads the data of one tensor. Errors name the file and the byte where it
// is not as it should be, and say what was expected there.
//
// # Files from elsewhere
//
// Models are downloaded, so nothing in a file is believed. A number of bytes or elements is compared with the bytes that the
// file has left before anything is allocated or skipped. A header is read up to 64 MiB and a tensor up to 1 GiB. Tensors lie in
// the file, on the alignment, and do not overlap. Types of tensors that package blocks does not have are listed, and can be read as
// bytes where their size is known.
//
// # Why no library
//
// github.com/gpustack/gguf-parser-go (v0.28.1), the one kept library, parses headers to say how much memory a model needs. It reads no
// tensors, its errors have no offsets, and it opens devices. Hostile files end the process: an alignment of 0 is divided by, a
// split.tensors.count is allocated as it stands, and arrays in arrays recurse until the stack is full; an array of bytes takes
// 16 times its size. It brings nine modules into the build, among them an HTTP logger and a JSON library. What tune needs is
// this package.
package gguf
