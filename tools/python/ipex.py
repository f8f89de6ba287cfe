# SPDX-License-Identifier: Apache-2.0
"""Runs .ipex files from Python with numpy arrays: ctypes over libipex.so, nothing else. For checking a model, not for
speed of small networks.

    import ipex
    with ipex.Model("model.ipex", threads=2) as model:
        print(model)                                  # entries, inputs, outputs, sizes that may change
        (y,) = model.run(x)                           # outputs in order, as new arrays
        outputs = model.run({"x": x}, entry="main")   # or by name

libipex.so is looked for where meson puts it (build/runtime), then by the system's loader; IPEX_LIBRARY names another.
Every failure is an ipex.Error with the library's status and message."""
import ctypes
import os
import pathlib

import numpy as np

RANK_MAX, ALIGN = 8, 64
DTYPES = {1: np.float32, 2: np.uint16, 3: np.float16, 4: np.int8, 5: np.uint8, 6: np.int32, 7: np.int64, 8: np.bool_,
          9: np.float64}  # bf16 (2) as its bits
CODES = {np.dtype(kind): code for code, kind in DTYPES.items()}
SIZE, POINTER, TEXT, I32, I64 = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64


class Port(ctypes.Structure):
    _fields_ = [("name", TEXT), ("dtype", ctypes.c_int), ("rank", I32), ("dims", I64 * RANK_MAX),
                ("max_dims", I64 * RANK_MAX), ("symbol", TEXT * RANK_MAX)]


class Symbol(ctypes.Structure):
    _fields_ = [("name", TEXT), ("lo", I64), ("hi", I64), ("step", I64)]


class ImageOptions(ctypes.Structure):
    _fields_ = [("size", SIZE), ("expect_digest", POINTER), ("prefault", ctypes.c_int), ("verify_data", ctypes.c_int),
                ("message", TEXT), ("message_size", SIZE)]


class PoolOptions(ctypes.Structure):
    _fields_ = [("size", SIZE), ("threads", I32), ("pin", I32), ("spin_us", I32), ("message", TEXT), ("message_size", SIZE)]


class DimRange(ctypes.Structure):
    _fields_ = [("entry", TEXT), ("symbol", TEXT), ("lo", I64), ("hi", I64)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", SIZE), ("entry", TEXT), ("isa", ctypes.c_int), ("arithmetic", ctypes.c_int),
                ("pool", POINTER), ("parallel_for", POINTER), ("parallel_user", POINTER), ("parallel_threads", I32),
                ("cancel", POINTER), ("dims", ctypes.POINTER(DimRange)), ("n_dims", SIZE), ("l2_bytes", I32),
                ("no_bands", ctypes.c_int), ("request_amx", ctypes.c_int), ("message", TEXT), ("message_size", SIZE)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", TEXT), ("data", POINTER), ("dtype", ctypes.c_int), ("rank", I32), ("dims", I64 * RANK_MAX),
                ("strides", I64 * RANK_MAX)]


class Error(Exception):
    """What the library refused, with the name of its status."""


def _library():
    built = pathlib.Path(__file__).resolve().parents[2] / "build" / "runtime" / "libipex.so"
    lib = ctypes.CDLL(os.environ.get("IPEX_LIBRARY") or (str(built) if built.exists() else "libipex.so.0"))
    for name in "status_name image_entry_name image_label image_metadata session_message".split():
        getattr(lib, f"ipex_{name}").restype = TEXT
    for name in "entry_count input_count output_count symbol_count label_count".split():
        getattr(lib, f"ipex_image_{name}").restype = SIZE
    return lib


_lib = _library()


class Model:
    """An open file and a session. dims: {symbol: (lo, hi)} narrows the sizes, and with them the memory; entry: one entry
    alone; isa: a level of enum ipex_isa by its number (0: the best); bands: False as no_bands. One thread at a time."""
    _opened = _session = _pool = None

    def __init__(self, path, entry=None, threads=1, dims=None, isa=0, bands=True):
        self._opened, self._session, self._pool = POINTER(), POINTER(), POINTER()
        self._blocks, self._path, self._message = [], os.fspath(path), ctypes.create_string_buffer(512)
        said = TEXT(ctypes.addressof(self._message)), SIZE(len(self._message))
        try:
            self._open(said)
            if threads != 1:
                self._start(threads, said)
            self._prepare(entry, dims or {}, isa, bands, said)
        except BaseException:
            self.close()
            raise

    @property
    def _image(self):
        if not self._opened:
            raise Error(f"{self._path}: the model is closed")
        return self._opened

    def _check(self, status, message=None):
        if status:
            name = _lib.ipex_status_name(status).decode()
            raise Error(f"{self._path}: {(message or self._message.value).decode(errors='replace') or name} ({name})")

    def _take(self, size):
        owner = ctypes.create_string_buffer(size + ALIGN)
        self._blocks.append(owner)  # must outlive what lies in it
        return POINTER(-(-ctypes.addressof(owner) // ALIGN) * ALIGN), SIZE(size)

    def _open(self, said):
        options = ImageOptions(ctypes.sizeof(ImageOptions), message=said[0], message_size=said[1])
        size, path, given = SIZE(), os.fsencode(self._path), ctypes.byref(options)
        self._check(_lib.ipex_image_measure(path, given, ctypes.byref(size)))
        self._check(_lib.ipex_image_open(ctypes.byref(self._opened), path, *self._take(size.value), given))

    def _start(self, threads, said):
        options = PoolOptions(ctypes.sizeof(PoolOptions), threads, message=said[0], message_size=said[1])
        size, given = SIZE(), ctypes.byref(options)
        self._check(_lib.ipex_pool_measure(given, ctypes.byref(size)))
        self._check(_lib.ipex_pool_init(ctypes.byref(self._pool), given, *self._take(size.value)))

    def _prepare(self, entry, dims, isa, bands, said):
        ranges = (DimRange * len(dims))(*[DimRange(None, name.encode(), lo, hi) for name, (lo, hi) in dims.items()])
        options = SessionOptions(ctypes.sizeof(SessionOptions), entry.encode() if entry else None, isa, pool=self._pool,
                                 dims=ranges, n_dims=len(dims), no_bands=not bands, message=said[0], message_size=said[1])
        need, given = (SIZE * 5)(), ctypes.byref(options)  # struct ipex_requirements, memory first
        self._check(_lib.ipex_session_measure(self._image, given, ctypes.byref(need)))
        self._check(_lib.ipex_session_init(ctypes.byref(self._session), self._image, given, *self._take(need[0])))
        self.memory = need[0]

    def run(self, inputs, entry=None):
        """inputs: an array, a list in the ports' order, or {name: array}. Returns the outputs as a list."""
        names, values = (None, [inputs]) if isinstance(inputs, np.ndarray) else (None, inputs)
        if isinstance(inputs, dict):
            names, values = [name.encode() for name in inputs], list(inputs.values())
        values = [value if any(value.strides) else value.copy() for value in map(np.asarray, values)]  # all 0 means dense
        given, key = (Tensor * len(values))(), entry.encode() if entry else None
        for i, (tensor, value) in enumerate(zip(given, values)):
            if value.dtype not in CODES or value.ndim > RANK_MAX or any(s % value.itemsize for s in value.strides):
                raise Error(f"{self._path}: input {i}: {value.dtype} of rank {value.ndim} cannot be given")
            tensor.name = names[i] if names else None
            tensor.data, tensor.dtype, tensor.rank = value.ctypes.data, CODES[value.dtype], value.ndim
            for axis in range(value.ndim):
                tensor.dims[axis], tensor.strides[axis] = value.shape[axis], value.strides[axis] // value.itemsize
        answers = (Tensor * _lib.ipex_image_output_count(self._image, key))()
        status = _lib.ipex_run(self._session, key, given, SIZE(len(given)), answers, SIZE(len(answers)))
        self._check(status, _lib.ipex_session_message(self._session) if status else None)
        return [self._copy(tensor) for tensor in answers]

    @staticmethod
    def _copy(tensor):
        """A view into the session, valid until the next run, as an array of its own."""
        kind, dims, strides = np.dtype(DTYPES[tensor.dtype]), tensor.dims[:tensor.rank], tensor.strides[:tensor.rank]
        last = sum((d - 1) * s for d, s in zip(dims, strides))
        raw = (ctypes.c_byte * ((last + 1) * kind.itemsize)).from_address(tensor.data)
        return np.lib.stride_tricks.as_strided(np.frombuffer(raw, kind), dims, [s * kind.itemsize for s in strides]).copy()

    def entries(self):
        image = self._image
        return [_lib.ipex_image_entry_name(image, SIZE(i)).decode() for i in range(_lib.ipex_image_entry_count(image))]

    def _each(self, what, entry, kind):
        key = entry.encode() if entry else None
        for i in range(getattr(_lib, f"ipex_image_{what}_count")(self._image, key)):
            item = kind()
            self._check(getattr(_lib, f"ipex_image_{what}")(self._image, key, SIZE(i), ctypes.byref(item)), b"")
            yield item

    def ports(self, what, entry=None):
        """`what`: "input" or "output". [(name, dtype, dims)]; a dim that may change is (symbol or None, lo, hi)."""
        return [(p.name.decode(), np.dtype(DTYPES[p.dtype]),
                 tuple(lo if lo == hi else (name and name.decode(), lo, hi) for lo, hi, name in
                       zip(p.dims[:p.rank], p.max_dims, p.symbol))) for p in self._each(what, entry, Port)]

    def symbols(self, entry=None):
        """{name: (lo, hi, step)}"""
        return {s.name.decode(): (s.lo, s.hi, s.step) for s in self._each("symbol", entry, Symbol)}

    def labels(self, entry=None):
        image, key = self._image, entry.encode() if entry else None
        return [_lib.ipex_image_label(image, key, SIZE(i)).decode() for i in range(_lib.ipex_image_label_count(image, key))]

    def __str__(self):
        return "\n".join(f"{entry} {what} {name}: {kind} {list(dims)}" for entry in self.entries()
                         for what in ("input", "output") for name, kind, dims in self.ports(what, entry))

    def close(self):
        """Ends the session, the threads and the image; may be called again."""
        for end, what in (("session_finish", "_session"), ("pool_finish", "_pool"), ("image_close", "_opened")):
            getattr(_lib, f"ipex_{end}")(getattr(self, what))
            setattr(self, what, POINTER())
        self._blocks = []
    __del__ = close  # threads end before the memory that they run in

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
