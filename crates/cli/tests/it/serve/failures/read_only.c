// Stands before the C library of a service under test: while the file that READ_ONLY_WHILE names is there, everything that
// writes to a database file fails as on a file system that was remounted read-only. The kernel does that itself only after an
// error of the disk: it refuses while a file is open for writing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define UNLESS_READ_ONLY(call) (read_only() ? (errno = EROFS, -1) : (call))

static int read_only(void) {
    const char *file = getenv("READ_ONLY_WHILE");
    int before = errno, is = file && access(file, F_OK) == 0;
    errno = before;
    return is;
}

// Nobody in the service but SQLite writes at a place of a file, or cuts one.
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return UNLESS_READ_ONLY(REAL(pwrite)(fd, from, n, at)); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) { return UNLESS_READ_ONLY(REAL(pwrite64)(fd, from, n, at)); }
int ftruncate(int fd, off_t size) { return UNLESS_READ_ONLY(REAL(ftruncate)(fd, size)); }
int ftruncate64(int fd, off64_t size) { return UNLESS_READ_ONLY(REAL(ftruncate64)(fd, size)); }

static int refused(const char *path, int flags) {
    return (flags & (O_WRONLY | O_RDWR | O_CREAT)) && strstr(path, "probity.db") && read_only();
}

static mode_t mode_of(int flags, va_list rest) { return flags & O_CREAT ? va_arg(rest, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return refused(path, flags) ? (errno = EROFS, -1) : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return refused(path, flags) ? (errno = EROFS, -1) : REAL(open64)(path, flags, mode);
}
