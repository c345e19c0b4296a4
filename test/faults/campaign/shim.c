/* Stands between a host process and its disk: calls on files below a folder fail or take long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Written by the campaign while the host runs; shim.ts has the same layout. */
struct control {
  unsigned mask, permille, error, seed, strikes, slow_us;
};

enum { WRITE = 1, FSYNC = 2, RENAME = 4, LINK = 8, UNLINK = 16, OPEN = 32, READ = 64, MKDIR = 128 };

static struct control *control;
static const char *folder;
static size_t length;

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("CELLAR_SHIM_CONTROL");
  folder = getenv("CELLAR_SHIM_FOLDER");
  if (!file || !folder) return;
  length = strlen(folder);
  int descriptor = open(file, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (page != MAP_FAILED) control = page;
}

static int is_on(void) { return control && (control->mask || control->slow_us); }

static int below(const char *path) {
  return is_on() && path && strncmp(path, folder, length) == 0;
}

static int below_fd(int descriptor) {
  if (!is_on()) return 0;
  char link[64], target[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t size = readlink(link, target, sizeof target - 1);
  if (size <= 0) return 0;
  target[size] = 0;
  return strncmp(target, folder, length) == 0;
}

static int strikes(unsigned call) {
  if (control->slow_us && call == FSYNC) usleep(control->slow_us);
  if (!(control->mask & call)) return 0;
  unsigned mixed = __sync_add_and_fetch(&control->seed, 0x9e3779b9u);
  mixed ^= mixed >> 16;
  mixed *= 0x85ebca6bu;
  mixed ^= mixed >> 13;
  if (mixed % 1000 >= control->permille) return 0;
  __sync_add_and_fetch(&control->strikes, 1);
  errno = control->error;
  return 1;
}

#define REAL(name)                    \
  static __typeof__(&name) real;      \
  if (!real) real = dlsym(RTLD_NEXT, #name)
#define ON_FD(call, name, parameters, ...)                        \
  parameters {                                                    \
    REAL(name);                                                   \
    if (below_fd(fd) && strikes(call)) return -1;                 \
    return real(__VA_ARGS__);                                     \
  }
#define ON_PATH(call, name, parameters, ...)                      \
  parameters {                                                    \
    REAL(name);                                                   \
    if (below(path) && strikes(call)) return -1;                  \
    return real(__VA_ARGS__);                                     \
  }

ON_FD(WRITE, write, ssize_t write(int fd, const void *data, size_t size), fd, data, size)
ON_FD(WRITE, pwrite, ssize_t pwrite(int fd, const void *data, size_t size, off_t at), fd, data, size, at)
ON_FD(WRITE, pwrite64, ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at), fd, data, size, at)
ON_FD(WRITE, writev, ssize_t writev(int fd, const struct iovec *parts, int count), fd, parts, count)
ON_FD(WRITE, pwritev, ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at), fd, parts, count, at)
ON_FD(WRITE, pwritev64, ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at), fd, parts, count, at)
ON_FD(FSYNC, fsync, int fsync(int fd), fd)
ON_FD(FSYNC, fdatasync, int fdatasync(int fd), fd)
ON_FD(READ, read, ssize_t read(int fd, void *data, size_t size), fd, data, size)
ON_FD(READ, pread, ssize_t pread(int fd, void *data, size_t size, off_t at), fd, data, size, at)
ON_FD(READ, pread64, ssize_t pread64(int fd, void *data, size_t size, off64_t at), fd, data, size, at)
ON_PATH(RENAME, rename, int rename(const char *path, const char *target), path, target)
ON_PATH(LINK, link, int link(const char *path, const char *target), path, target)
ON_PATH(UNLINK, unlink, int unlink(const char *path), path)
ON_PATH(MKDIR, mkdir, int mkdir(const char *path, mode_t mode), path, mode)

int open(const char *path, int flags, ...) {
  REAL(open);
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  if (below(path) && strikes(OPEN)) return -1;
  return real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  REAL(open64);
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  if (below(path) && strikes(OPEN)) return -1;
  return real(path, flags, mode);
}
