"""CUDA programs compiled at run time, with what PyTorch brings: its NVRTC, its memory, its streams.

The kernels are text in the package. NVRTC, a library that every CUDA build of PyTorch has with it, compiles them for
the GPU that is there and for the number of labels at hand, so that loops are unrolled and tables stand in registers.
Nothing is compiled when the package is installed, wheels hold no code for GPUs, and one wheel suits every PyTorch.
(Triton was the other choice: it needs a C compiler where it runs, and has no way to keep a message in shared memory
from one step of a recursion to the next.) Both libraries are called by their C interfaces.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
from collections.abc import Mapping
from importlib import resources
from typing import Any

__all__ = ["CudaError", "Program", "program"]

_SHARED_MEMORY = 200 * 1024  # bytes that a block may ask for; every GPU since compute capability 9.0 has more
_DYNAMIC_SHARED_MEMORY = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class CudaError(RuntimeError):
    """CUDA refused something; the message is a sentence."""


class Program:
    """The kernels of a source file, compiled for one GPU, by name."""

    def __init__(self, source: str, name: str, definitions: Mapping[str, object], device: int) -> None:
        import torch

        self._driver = _driver()
        with torch.cuda.device(device):
            torch.cuda.current_stream().synchronize()  # makes the context of this GPU
            code = _compile(source, name, definitions, torch.cuda.get_device_capability(device))
            self._module = ctypes.c_void_p()
            _check(self._driver.cuModuleLoadData(ctypes.byref(self._module), code), "load the kernels")
        self._functions: dict[str, ctypes.c_void_p] = {}

    def launch(self, kernel: str, blocks: Any, threads: int, arguments: list[Any], shared: int = 0) -> None:
        """Run a kernel on PyTorch's current stream, in (x, y) or x blocks of so many threads.

        Arguments are tensors, None for a null pointer, or numbers as ctypes has them.
        """
        import torch

        x, y = blocks if isinstance(blocks, tuple) else (blocks, 1)
        if x == 0 or y == 0:
            return
        held = [_argument(value) for value in arguments]
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(value) for value in held))
        stream = torch.cuda.current_stream().cuda_stream
        function = self._function(kernel, shared)
        code = self._driver.cuLaunchKernel(function, x, y, 1, threads, 1, 1, shared, stream, pointers, None)
        _check(code, f"start the kernel {kernel}")

    def _function(self, kernel: str, shared: int) -> ctypes.c_void_p:
        key = f"{kernel} {shared}"
        function = self._functions.get(key)
        if function is None:
            function = ctypes.c_void_p()
            found = self._driver.cuModuleGetFunction(ctypes.byref(function), self._module, kernel.encode())
            _check(found, f"find the kernel {kernel}")
            if shared > 48 * 1024:
                raised = self._driver.cuFuncSetAttribute(function, _DYNAMIC_SHARED_MEMORY, shared)
                _check(raised, f"give {shared:,} bytes of shared memory to the kernel {kernel}")
            self._functions[key] = function
        return function


_programs: dict[tuple[Any, ...], Program] = {}
_compiling = threading.Lock()


def program(name: str, device: int, **definitions: object) -> Program:
    """The program of ``kernels/name.cu`` with these definitions, compiled when it is first asked for."""
    key = (name, device, *sorted(definitions.items()))
    found = _programs.get(key)
    if found is None:
        with _compiling:
            found = _programs.get(key)
            if found is None:
                found = _programs[key] = Program(source_of(name), name, definitions, device)
    return found


def source_of(name: str) -> str:
    """The text of a program: what all share, and its own."""
    folder = resources.files("dualfield.cuda") / "kernels"
    return "\n".join((folder / f"{part}.cu").read_text(encoding="utf-8") for part in ("common", name))


def _argument(value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p(0)
    if hasattr(value, "data_ptr"):
        return ctypes.c_void_p(value.data_ptr())
    return value


def _compile(source: str, name: str, definitions: Mapping[str, object], capability: tuple[int, int]) -> bytes:
    """Machine code for a GPU of this compute capability, or PTX where the compiler is older than the GPU."""
    nvrtc = _nvrtc()
    count = ctypes.c_int()
    _nvrtc_check(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    known = (ctypes.c_int * count.value)()
    _nvrtc_check(nvrtc, nvrtc.nvrtcGetSupportedArchs(known))
    wanted = 10 * capability[0] + capability[1]
    exact = wanted in list(known)
    architecture = f"sm_{wanted}" if exact else f"compute_{max(each for each in known if each <= wanted)}"
    options = [f"--gpu-architecture={architecture}", "--std=c++17"]
    options += [f"-D{key}={value}" for key, value in sorted(definitions.items())]
    handle = ctypes.c_void_p()
    created = nvrtc.nvrtcCreateProgram(ctypes.byref(handle), source.encode(), f"{name}.cu".encode(), 0, None, None)
    _nvrtc_check(nvrtc, created)
    try:
        listed = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if nvrtc.nvrtcCompileProgram(handle, len(options), listed):
            raise CudaError(f"the kernels of {name}.cu do not compile for {architecture}: {_log(nvrtc, handle)}")
        kind = "CUBIN" if exact else "PTX"
        size = ctypes.c_size_t()
        _nvrtc_check(nvrtc, getattr(nvrtc, f"nvrtcGet{kind}Size")(handle, ctypes.byref(size)))
        code = ctypes.create_string_buffer(size.value)
        _nvrtc_check(nvrtc, getattr(nvrtc, f"nvrtcGet{kind}")(handle, code))
        return code.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(handle))


def _log(nvrtc: Any, handle: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(handle, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(handle, text)
    return text.value.decode(errors="replace")


_libraries: dict[str, Any] = {}


def _nvrtc() -> Any:
    if "nvrtc" not in _libraries:
        import torch

        major = str(torch.version.cuda).partition(".")[0]
        packages = os.path.dirname(os.path.dirname(torch.__file__))
        name = f"libnvrtc.so.{major}"
        candidates = [name, *sorted(glob.glob(os.path.join(packages, "nvidia", "*", "lib", name)))]
        candidates += glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", "libnvrtc*.so*"))
        for candidate in candidates:
            try:
                _libraries["nvrtc"] = ctypes.CDLL(candidate)
                break
            except OSError:
                continue
        else:
            raise CudaError(
                f"the compiler of CUDA at run time, {name}, was not found beside PyTorch; install the package "
                f"nvidia-cuda-nvrtc for CUDA {major}."
            )
    return _libraries["nvrtc"]


def _driver() -> Any:
    if "driver" not in _libraries:
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise CudaError("the driver of NVIDIA, libcuda.so.1, was not found; install it, or use the CPU.") from None
        driver.cuLaunchKernel.argtypes = [
            ctypes.c_void_p,
            *[ctypes.c_uint] * 7,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        _libraries["driver"] = driver
    return _libraries["driver"]


def _check(code: int, action: str) -> None:
    if code == 0:
        return
    text = ctypes.c_char_p()
    _driver().cuGetErrorString(code, ctypes.byref(text))
    reason = text.value.decode() if text.value else f"error {code}"
    raise CudaError(f"CUDA could not {action}: {reason}.")


def _nvrtc_check(nvrtc: Any, code: int) -> None:
    if code:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CudaError(f"NVRTC failed: {nvrtc.nvrtcGetErrorString(code).decode()}.")
