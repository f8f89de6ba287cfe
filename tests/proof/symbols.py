#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""P3: what libipex.a takes from outside is on a short list (no allocator, stdio, environment, exit), and all it gives
begins with ipex_. The check is first shown to fail on archives that break each rule."""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ipextest import BUILD, Tap, command

ALLOWED = set("""
    bcmp memchr memcmp memcpy memmove memset strchr strcmp strlen strncmp strnlen
    close fstat madvise mmap munmap open pread sysconf
    clock_gettime dl_iterate_phdr getpid sched_getaffinity sched_yield __sched_cpucount syscall __errno_location
    pthread_attr_destroy pthread_attr_init pthread_attr_setaffinity_np pthread_attr_setguardsize
    pthread_attr_setstack pthread_create pthread_join pthread_setaffinity_np pthread_sigmask sigdelset sigfillset
    ceilf floor floorf fmaf rintf _GLOBAL_OFFSET_TABLE_ __stack_chk_fail
""".split())

# Said by name, so that a slip into ALLOWED is caught as well.
FORBIDDEN = set("""
    malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc strdup strndup brk sbrk
    printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf puts fputs putchar perror
    fopen fread fwrite fclose stdin stdout stderr getenv secure_getenv setenv environ exit _exit _Exit abort atexit __assert_fail
    dlopen dlsym dlclose system popen fork execve mprotect
""".split())

LARGE_FILE = re.compile(r"^(fopen|fstat|mmap|open|pread)64$")

SIZE_LIMIT = 1 << 20  # of the shared library: "a 1 MB library"


def symbols(archive, *flags):
    """Names, without the 64 of the large-file variants, without the symbol versions (type A) and archive member heads."""
    done = command("nm", "--format=posix", *flags, archive, check=True)
    fields = [line.split() for line in done.stdout.splitlines()]
    return {LARGE_FILE.sub(r"\1", f[0].split("@")[0]) for f in fields if len(f) > 1 and f[1] != "A"}


def faults(archive):
    """What breaks the rules in an archive, as sentences."""
    defined = symbols(archive, "--defined-only", "--extern-only")
    wanted = symbols(archive, "--undefined-only") - defined
    found = [f"takes {name}, which is forbidden" for name in sorted(wanted & FORBIDDEN)]
    found += [f"takes {name}, which is not on the list" for name in sorted(wanted - ALLOWED - FORBIDDEN)]
    found += [f"defines {name}, without ipex_" for name in sorted(defined) if not name.startswith("ipex_")]
    return found if defined else ["defines nothing"]


def faults_of_source(folder, source):
    (folder / "bad.c").write_text(source)
    archive = folder / "bad.a"
    archive.unlink(missing_ok=True)
    command("gcc", "-c", "-O1", "-fno-builtin", folder / "bad.c", "-o", folder / "bad.o", check=True)
    command("ar", "rcs", archive, folder / "bad.o", check=True)
    return faults(archive)


def self_test(tap):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        calls = "int {0}(void); int ipex_a(void); int ipex_a(void) {{ return {0}(); }}"
        for function in ("malloc", "getenv", "snprintf", "abort"):
            found = faults_of_source(folder, calls.format(function))
            said = any(f"takes {function}, which is forbidden" in f for f in found)
            tap.ok(f"control: {function} is found", said, found)
        found = faults_of_source(folder, calls.format("qsort"))
        tap.ok("control: a function not on the list is found", any("qsort" in f for f in found), found)
        found = faults_of_source(folder, "int helper(void); int helper(void) { return 1; }")
        tap.ok("control: a global without ipex_ is found", any("helper" in f for f in found), found)
        found = faults_of_source(folder, "int ipex_a(void); int ipex_a(void) { return 1; }")
        tap.ok("control: a clean archive passes", not found, found)


def main():
    tap = Tap()
    self_test(tap)
    tap.ok("allowed and forbidden names are disjoint", not ALLOWED & FORBIDDEN, ALLOWED & FORBIDDEN)
    found = faults(BUILD / "runtime" / "libipex.a")
    tap.ok("libipex.a: only allowed symbols", not found, *found)
    shared = BUILD / "runtime" / "libipex.so"
    exported = symbols(shared, "--dynamic", "--defined-only", "--extern-only")
    strangers = {name for name in exported if not name.startswith("ipex_")}
    tap.ok("libipex.so: exports ipex_ names only", exported and not strangers, strangers)
    size = shared.stat().st_size
    tap.ok("libipex.so: at most 1 MiB", size <= SIZE_LIMIT, f"{size} bytes")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
