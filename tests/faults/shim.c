/* Lets one operation of a process fail: see inject.py.
 *
 * Loaded before the C library (LD_PRELOAD). Operations on files below a folder are counted, and so are
 * allocations of a size or more once the first such file was opened. The one whose number was set fails,
 * or that one and all after it, as a disk that is full or broken makes it fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>

#define FILES 4096
#define LARGE (64 * 1024)

static char folder[4096];
static char kinds[1 << 20]; /* of each operation: O open, R read, W write, S sync, N name, C close, M map */
static char ours[FILES];
static long count, fail_at = -1;
static int lasting, allocations, armed;

void fault_set(const char *where, long at, int last, int memory) {
    strncpy(folder, where, sizeof folder - 1);
    count = 0;
    fail_at = at;
    lasting = last;
    allocations = memory;
    armed = 0;
}
long fault_count(void) { return count; }
const char *fault_kinds(void) { return kinds; }

static int fails(char kind, int error) {
    long now = __sync_fetch_and_add(&count, 1);
    if (now < (long)sizeof kinds - 1) kinds[now] = kind;
    if (fail_at < 0 || (lasting ? now < fail_at : now != fail_at)) return 0;
    errno = error;
    return 1;
}
static int operation(char kind, int error) { return !allocations && fails(kind, error); }
static int below(const char *path) { return folder[0] && path && strstr(path, folder) == path; }
static int is_ours(int fd) { return fd >= 0 && fd < FILES && ours[fd]; }
static int opened(int fd) {
    if (fd >= 0 && fd < FILES) ours[fd] = 1;
    armed = 1;
    return fd;
}
#define REAL(name) ({ static __typeof__(&name) f; if (!f) f = (__typeof__(&name))dlsym(RTLD_NEXT, #name); f; })
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, int); va_end(a); }
#define OPEN(call) do { int fd; if (!below(path)) { fd = call; if (fd >= 0 && fd < FILES) ours[fd] = 0; return fd; } \
    if (operation('O', (flags & O_ACCMODE) == O_RDONLY ? EIO : ENOSPC)) return -1; fd = call; return fd < 0 ? fd : opened(fd); } while (0)

int open(const char *path, int flags, ...) { MODE OPEN(REAL(open)(path, flags, mode)); }
int open64(const char *path, int flags, ...) { MODE OPEN(REAL(open64)(path, flags, mode)); }
int openat(int at, const char *path, int flags, ...) { MODE OPEN(REAL(openat)(at, path, flags, mode)); }
int openat64(int at, const char *path, int flags, ...) { MODE OPEN(REAL(openat64)(at, path, flags, mode)); }

#define IF_OURS(kind, error) if (is_ours(fd) && operation(kind, error)) return -1
ssize_t read(int fd, void *b, size_t n) { IF_OURS('R', EIO); return REAL(read)(fd, b, n); }
ssize_t pread(int fd, void *b, size_t n, off_t o) { IF_OURS('R', EIO); return REAL(pread)(fd, b, n, o); }
ssize_t pread64(int fd, void *b, size_t n, off64_t o) { IF_OURS('R', EIO); return REAL(pread64)(fd, b, n, o); }
ssize_t readv(int fd, const struct iovec *v, int n) { IF_OURS('R', EIO); return REAL(readv)(fd, v, n); }
ssize_t write(int fd, const void *b, size_t n) { IF_OURS('W', ENOSPC); return REAL(write)(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { IF_OURS('W', ENOSPC); return REAL(pwrite)(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { IF_OURS('W', ENOSPC); return REAL(pwrite64)(fd, b, n, o); }
ssize_t writev(int fd, const struct iovec *v, int n) { IF_OURS('W', ENOSPC); return REAL(writev)(fd, v, n); }
int fsync(int fd) { IF_OURS('S', EIO); return REAL(fsync)(fd); }
int fdatasync(int fd) { IF_OURS('S', EIO); return REAL(fdatasync)(fd); }
int close(int fd) {
    int mine = is_ours(fd), found;
    if (mine) ours[fd] = 0;
    found = REAL(close)(fd);
    return mine && operation('C', EIO) ? -1 : found;
}
int rename(const char *a, const char *b) {
    if (below(b) && operation('N', EIO)) return -1;
    return REAL(rename)(a, b);
}
int renameat(int x, const char *a, int y, const char *b) {
    if (below(b) && operation('N', EIO)) return -1;
    return REAL(renameat)(x, a, y, b);
}
void *mmap(void *at, size_t n, int p, int flags, int fd, off_t o) {
    if (is_ours(fd) && operation('M', ENOMEM)) return MAP_FAILED;
    return REAL(mmap)(at, n, p, flags, fd, o);
}

/* Allocations of arrays; polars has an allocator of its own, and is not asked. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static int refused(size_t n) { return allocations && armed && n >= LARGE && fails('A', ENOMEM); }
void *malloc(size_t n) { return refused(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t k, size_t n) { return refused(k * n) ? NULL : __libc_calloc(k, n); }
void *realloc(void *p, size_t n) { return refused(n) ? NULL : __libc_realloc(p, n); }
