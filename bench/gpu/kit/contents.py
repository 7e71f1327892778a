"""A pack: a folder with pack.json, artifacts, libraries and this kit. Written by bench/gpu/pack,
read by bench/gpu/run.

The constants of a network's artifact lie apart, compressed, once however many artifacts have them;
who asks for the artifact gets it with them back where they were, the compiler's byte for byte.
"""

import bz2
import concurrent.futures
import hashlib
import json
import os
import subprocess
import zipfile

CONSTANTS = "constants.bin"
CHUNK = 8 << 20  # packed and unpacked by itself, all processors at once


SYSTEM = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libstdc++", "libgcc_s", "libpthread",
          "libdl", "librt")  # fmt: skip


def libraries_of(path):
    """What a program or library needs that not every system has, {name: file}, in the order in
    which the loader wants them."""
    said = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in said.splitlines()]
    return {
        words[0]: words[2] for words in lines if "=>" in words and not words[0].startswith(SYSTEM)
    }


def digest(data):
    return hashlib.sha256(data).hexdigest()


def take_apart(path, blobs):
    """Moves the constants of an artifact into the folder `blobs`; what it needs to become whole
    again, or None."""
    with zipfile.ZipFile(path) as archive:
        found = [info for info in archive.infolist() if info.filename == CONSTANTS]
        if not found or found[0].file_size < 1 << 16:
            return None
        info = found[0]
    with open(path, "rb") as file:
        whole = file.read()
    header = whole[info.header_offset : info.header_offset + 30]
    start = (
        info.header_offset
        + 30
        + int.from_bytes(header[26:28], "little")
        + int.from_bytes(header[28:30], "little")
    )
    constants = whole[start : start + info.file_size]
    name = digest(constants)
    blob = os.path.join(blobs, name)
    if not os.path.exists(blob):
        os.makedirs(blobs, exist_ok=True)
        with open(blob, "wb") as file:
            for part in in_parallel(
                bz2.compress, [constants[i : i + CHUNK] for i in range(0, len(constants), CHUNK)]
            ):
                file.write(len(part).to_bytes(8, "little") + part)
    with open(path, "wb") as file:
        file.write(whole[:start] + whole[start + info.file_size :])
    return {"at": start, "blob": name, "sha256": digest(whole)}


def in_parallel(work, parts):
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        return list(threads.map(work, parts))


def unpacked(path):
    parts = []
    with open(path, "rb") as file:
        while size := file.read(8):
            parts.append(file.read(int.from_bytes(size, "little")))
    return b"".join(in_parallel(bz2.decompress, parts))


class Pack:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "pack.json")) as file:
            self.contents = json.load(file)

    def path(self, name):
        return os.path.join(self.folder, name)

    def items(self):
        """Kernels, then networks, by their ids."""
        return {item["id"]: item for item in self.contents["kernels"] + self.contents["networks"]}

    def artifact(self, item, scratch):
        """The path of its artifact, whole."""
        path, apart = self.path(item["artifact"]), item.get("constants")
        if not apart:
            return path
        whole = os.path.join(scratch, os.path.basename(path))
        if os.path.exists(whole):
            return whole
        with open(path, "rb") as file:
            frame = file.read()
        constants = unpacked(self.path(f"blobs/{apart['blob']}"))
        data = frame[: apart["at"]] + constants + frame[apart["at"] :]
        if digest(data) != apart["sha256"]:
            raise RuntimeError(
                f"{item['id']}: the artifact put together again is not the one that was packed"
            )
        with open(whole + ".part", "wb") as file:
            file.write(data)
        os.replace(whole + ".part", whole)
        return whole
