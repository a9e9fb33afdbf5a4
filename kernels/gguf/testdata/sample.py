"""A small GGUF file that ggml itself wrote, with values of every type and tensors of the formats of package blocks.

    python3 kernels/gguf/testdata/sample.py LIBGGML_BASE.so

writes sample.gguf beside this script. It needs Python 3, its standard library, and ggml's library. For each format there is a tensor
that ggml quantised, and one of float32 with the values that ggml reads from it.
"""

import ctypes
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {
    "f32": 0, "f16": 1, "bf16": 30, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q4_K": 12, "q5_K": 13, "q6_K": 14, "q8_K": 15,
}  # fmt: skip
K = 256


class Params(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def load(path):
    lib = ctypes.CDLL(path)
    pointer, size, i64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
    for name, result, arguments in [
        ("ggml_init", pointer, [Params]),
        ("ggml_new_tensor_2d", pointer, [pointer, ctypes.c_int, i64, i64]),
        ("ggml_set_name", pointer, [pointer, ctypes.c_char_p]),
        ("ggml_get_data", pointer, [pointer]),
        ("ggml_nbytes", size, [pointer]),
        ("ggml_quantize_chunk", size, [ctypes.c_int, pointer, pointer, i64, i64, i64, pointer]),
        ("quantize_row_q8_K_ref", None, [pointer, pointer, i64]),
        ("gguf_init_empty", pointer, []),
        ("gguf_add_tensor", None, [pointer, pointer]),
        ("gguf_write_to_file", ctypes.c_bool, [pointer, ctypes.c_char_p, ctypes.c_bool]),
        ("gguf_set_arr_data", None, [pointer, ctypes.c_char_p, ctypes.c_int, pointer, size]),
        ("gguf_set_arr_str", None, [pointer, ctypes.c_char_p, pointer, size]),
    ]:
        f = getattr(lib, name)
        f.restype, f.argtypes = result, arguments
    for name in TYPES:
        f = reader(lib, name)
        if f:
            f.restype, f.argtypes = None, [pointer, pointer, i64]
    return lib


def reader(lib, name):
    """The function that reads the values of a row."""
    if name == "f32":
        return None
    return getattr(lib, {"f16": "ggml_fp16_to_fp32_row", "bf16": "ggml_bf16_to_fp32_row"}.get(name, "dequantize_row_" + name))


def metadata(lib, file):
    """One value of each type, and arrays."""
    for suffix, kind, v in [
        ("u8", ctypes.c_uint8, 200), ("i8", ctypes.c_int8, -100), ("u16", ctypes.c_uint16, 60000), ("i16", ctypes.c_int16, -30000),
        ("u32", ctypes.c_uint32, 4000000000), ("i32", ctypes.c_int32, -2000000000), ("f32", ctypes.c_float, 0.5), ("bool", ctypes.c_bool, True),
        ("u64", ctypes.c_uint64, 2**63), ("i64", ctypes.c_int64, -(2**62)), ("f64", ctypes.c_double, 0.25), ("str", ctypes.c_char_p, b"sample"),
    ]:  # fmt: skip
        f = getattr(lib, "gguf_set_val_" + suffix)
        f.restype, f.argtypes = None, [ctypes.c_void_p, ctypes.c_char_p, kind]
        f(file, b"test." + suffix.encode(), v)
    lib.gguf_set_arr_data(file, b"test.list", 6, (ctypes.c_float * 3)(1, 2, 3), 3)
    lib.gguf_set_arr_str(file, b"test.words", (ctypes.c_char_p * 3)(b"one", b"", b"three"), 3)


def main():
    lib = load(sys.argv[1])
    context = lib.ggml_init(Params(1 << 22, None, False))
    file = lib.gguf_init_empty()
    metadata(lib, file)
    rng = random.Random("sample")
    for name, number in TYPES.items():
        x = (ctypes.c_float * K)(*[rng.gauss(0, 0.1) for _ in range(K)])
        t = lib.ggml_new_tensor_2d(context, number, K, 1)
        lib.ggml_set_name(t, name.encode())
        data = lib.ggml_get_data(t)
        if name == "q8_K":
            lib.quantize_row_q8_K_ref(x, data, K)
        else:
            lib.ggml_quantize_chunk(number, x, data, 0, 1, K, None)
        values = lib.ggml_new_tensor_2d(context, 0, K, 1)
        lib.ggml_set_name(values, name.encode() + b".values")
        if name == "f32":
            ctypes.memmove(lib.ggml_get_data(values), data, 4 * K)
        else:
            reader(lib, name)(data, lib.ggml_get_data(values), K)
        lib.gguf_add_tensor(file, t)
        lib.gguf_add_tensor(file, values)
    if not lib.gguf_write_to_file(file, os.path.join(HERE, "sample.gguf").encode(), False):
        sys.exit("cannot write sample.gguf")


if __name__ == "__main__":
    main()
