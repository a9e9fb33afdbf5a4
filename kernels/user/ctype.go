package user

import (
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/kernels/native"
)

// ctype is a type of C that an argument can have.
type ctype struct {
	name string // as users write it
	c    string // as C does
	elem native.Elem
}

var ctypes = []ctype{
	{"float", "float", native.F32}, {"double", "double", native.F64},
	{"int8_t", "int8_t", native.I8}, {"uint8_t", "uint8_t", native.U8},
	{"int16_t", "int16_t", native.I16}, {"uint16_t", "uint16_t", native.U16},
	{"int", "int", native.I32}, {"int32_t", "int32_t", native.I32},
	{"unsigned", "unsigned", native.U32}, {"uint32_t", "uint32_t", native.U32},
	{"long", "long", native.I64}, {"int64_t", "int64_t", native.I64},
	{"size_t", "size_t", native.U64}, {"uint64_t", "uint64_t", native.U64},
	{"f32", "float", native.F32}, {"f64", "double", native.F64},
	{"i8", "int8_t", native.I8}, {"u8", "uint8_t", native.U8}, {"i16", "int16_t", native.I16}, {"u16", "uint16_t", native.U16},
	{"i32", "int32_t", native.I32}, {"u32", "uint32_t", native.U32}, {"i64", "int64_t", native.I64}, {"u64", "uint64_t", native.U64},
}

func typeNames() []string {
	names := make([]string, len(ctypes))
	for i, t := range ctypes {
		names[i] = t.name
	}
	return names
}

func lookupType(name string) ctype {
	for _, t := range ctypes {
		if t.name == name {
			return t
		}
	}
	return ctype{}
}

// foreignTypes are names that other languages have for types, or C for those that a file names in one word.
var foreignTypes = map[string]string{
	"float32": "float", "fp32": "float", "single": "float", "real": "float", "float32_t": "float",
	"float64": "double", "fp64": "double", "float64_t": "double", "real8": "double", "longdouble": "double",
	"int8": "int8_t", "char": "int8_t", "signedchar": "int8_t", "s8": "int8_t",
	"uint8": "uint8_t", "unsignedchar": "uint8_t", "uchar": "uint8_t", "byte": "uint8_t", "bool": "uint8_t", "boolean": "uint8_t",
	"int16": "int16_t", "short": "int16_t", "shortint": "int16_t", "s16": "int16_t",
	"uint16": "uint16_t", "unsignedshort": "uint16_t", "ushort": "uint16_t",
	"int32": "int32_t", "integer": "int", "signed": "int", "signedint": "int", "s32": "int32_t",
	"uint32": "uint32_t", "uint": "unsigned", "unsignedint": "unsigned",
	"int64": "int64_t", "longlong": "int64_t", "longint": "long", "longlongint": "int64_t", "ssize_t": "long", "ptrdiff_t": "long", "isize": "long", "s64": "int64_t",
	"uint64": "uint64_t", "unsignedlong": "uint64_t", "unsignedlonglong": "uint64_t", "ulong": "uint64_t", "usize": "size_t", "uintptr": "size_t",
}

// halfPattern matches the names of types of floats of 16 bits.
var halfPattern = pattern.Lazy(`(?i)^(const )?_*(b?float16|bf16|f16|fp16|half|bfloat)(_t)? *\*?$`)

// meantType returns the name that a file has for a type of another name, "" where it has none.
func meantType(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return strings.ContainsRune(" \t*&[]", c) })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "const" || w == "restrict" || w == "__restrict" })
	plain := strings.Join(words, "")
	if lookupType(plain).name != "" {
		return plain
	}
	return foreignTypes[plain]
}

func floating(e native.Elem) bool { return e == native.F32 || e == native.F64 }

// wholeRange returns the range of an integer type, as float64, within 2^53.
func wholeRange(e native.Elem) (low, high float64) {
	switch e {
	case native.I8:
		return -1 << 7, 1<<7 - 1
	case native.U8:
		return 0, 1<<8 - 1
	case native.I16:
		return -1 << 15, 1<<15 - 1
	case native.U16:
		return 0, 1<<16 - 1
	case native.I32:
		return -1 << 31, 1<<31 - 1
	case native.U32:
		return 0, 1<<32 - 1
	case native.U64:
		return 0, 1 << 53
	}
	return -1 << 53, 1 << 53
}

// keywords of C and C++, and macros that the wrapper needs: a #define of one of them would break the source.
var keywords = map[string]bool{
	"auto": true, "break": true, "case": true, "char": true, "const": true, "continue": true, "default": true, "do": true,
	"double": true, "else": true, "enum": true, "extern": true, "float": true, "for": true, "goto": true, "if": true,
	"inline": true, "int": true, "long": true, "register": true, "restrict": true, "return": true, "short": true,
	"signed": true, "sizeof": true, "static": true, "struct": true, "switch": true, "typedef": true, "union": true,
	"unsigned": true, "void": true, "volatile": true, "while": true, "asm": true, "bool": true, "catch": true,
	"class": true, "constexpr": true, "decltype": true, "delete": true, "explicit": true, "export": true, "false": true,
	"friend": true, "mutable": true, "namespace": true, "new": true, "noexcept": true, "nullptr": true, "operator": true,
	"private": true, "protected": true, "public": true, "static_assert": true, "static_cast": true, "template": true,
	"this": true, "throw": true, "true": true, "try": true, "typeid": true, "typename": true, "using": true,
	"virtual": true, "main": true, "defined": true, "NULL": true, "int64_t": true,
}
