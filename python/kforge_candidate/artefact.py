"""An artefact: the program and what was compiled for it, in one file.

A zip file of SOURCE (solution.py), manifest.json and cache/. Where it is
unpacked is the same in builder and runner, for caches name their own files.
"""

import json
import os
import tempfile
import zipfile

SOURCE = "solution.py"
MANIFEST = "manifest.json"
CACHE = "cache"
# What compilers leave behind and nobody loads.
LEFT_OUT = (".o", ".d", ".cpp", ".ninja")


def folder():
    return os.path.join(tempfile.gettempdir(), "kforge-program")


def set_caches(path):
    """Where PyTorch and Triton keep what they compile."""
    cache = name_caches(path)
    os.makedirs(cache, exist_ok=True)
    return cache


def name_caches(path):
    """Some look at the names when they are loaded."""
    cache = os.path.join(path, CACHE)
    os.environ["TORCH_EXTENSIONS_DIR"] = os.path.join(cache, "extensions")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(cache, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(cache, "triton")
    # A pool of processes would outlive the compilation.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    return cache


def pack(path, manifest, output):
    with open(os.path.join(path, MANIFEST), "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    with zipfile.ZipFile(output, "w") as out:
        for below, _, names in os.walk(path):
            for name in sorted(names):
                if below != path and name.endswith(LEFT_OUT):
                    continue
                whole = os.path.join(below, name)
                out.write(whole, os.path.relpath(whole, path))


def unpack(artefact):
    """(folder, manifest)"""
    path = folder()
    with zipfile.ZipFile(artefact) as file:
        file.extractall(path)
    with open(os.path.join(path, MANIFEST), encoding="utf-8") as file:
        return path, json.load(file)
