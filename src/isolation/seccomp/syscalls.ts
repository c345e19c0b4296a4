export type Architecture = "x64" | "arm64";

/** Runs of consecutive numbers: the first number of a run, then its names in order. */
type NumberRuns = readonly (readonly [first: number, names: string])[];

const X64_RUNS: NumberRuns = [
  [
    0,
    `
    read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction
    rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select
    sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep
    getitimer alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg
    recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt clone
    fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv
    msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename
    mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown lchown umask
    gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid
    geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups
    setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget capset
    rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib
    personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam sched_getparam
    sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt pivot_root
    _sysctl prctl arch_prctl adjtimex setrlimit chroot sync acct settimeofday mount umount2
    swapon swapoff reboot sethostname setdomainname iopl ioperm create_module init_module
    delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg afs_syscall
    tuxcall security gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
    listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr tkill time futex
    sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy io_getevents
    io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old
    remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64
    timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime
    clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes
    vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive
    mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get
    inotify_init inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat
    fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat
    faccessat pselect6 ppoll unshare set_robust_list get_robust_list splice tee sync_file_range
    vmsplice move_pages utimensat epoll_pwait signalfd timerfd_create eventfd fallocate
    timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2
    inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init
    fanotify_mark prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg
    setns getcpu process_vm_readv process_vm_writev kcmp finit_module sched_setattr
    sched_getattr renameat2 seccomp getrandom memfd_create kexec_file_load bpf execveat
    userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc
    pkey_free statx io_pgetevents rseq`,
  ],
];

const ARM64_RUNS: NumberRuns = [
  [
    0,
    `
    io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr
    lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr
    getcwd lookup_dcookie eventfd2 epoll_create1 epoll_ctl epoll_pwait dup dup3 fcntl
    inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get flock mknodat
    mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root nfsservctl statfs
    fstatfs truncate ftruncate fallocate faccessat chdir fchdir chroot fchmod fchmodat fchownat
    fchown openat close vhangup pipe2 quotactl getdents64 lseek read write readv writev pread64
    pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice tee readlinkat
    newfstatat fstat sync fsync fdatasync sync_file_range timerfd_create timerfd_settime
    timerfd_gettime utimensat acct capget capset personality exit exit_group waitid
    set_tid_address unshare futex set_robust_list get_robust_list nanosleep getitimer setitimer
    kexec_load init_module delete_module timer_create timer_gettime timer_getoverrun
    timer_settime timer_delete clock_settime clock_gettime clock_getres clock_nanosleep syslog
    ptrace sched_setparam sched_setscheduler sched_getscheduler sched_getparam sched_setaffinity
    sched_getaffinity sched_yield sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack rt_sigsuspend
    rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn
    setpriority getpriority reboot setregid setgid setreuid setuid setresuid getresuid setresgid
    getresgid setfsuid setfsgid times setpgid getpgid getsid setsid getgroups setgroups uname
    sethostname setdomainname getrlimit setrlimit getrusage umask prctl getcpu gettimeofday
    settimeofday adjtimex getpid getppid getuid geteuid getgid getegid gettid sysinfo mq_open
    mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr msgget msgctl msgrcv msgsnd
    semget semctl semtimedop semop shmget shmctl shmat shmdt socket socketpair bind listen
    accept connect getsockname getpeername sendto recvfrom setsockopt getsockopt shutdown
    sendmsg recvmsg readahead brk munmap mremap add_key request_key keyctl clone execve mmap
    fadvise64 swapon swapoff mprotect msync mlock munlock mlockall munlockall mincore madvise
    remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages
    rt_tgsigqueueinfo perf_event_open accept4 recvmmsg`,
  ],
  [
    260,
    `
    wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at
    clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp finit_module
    sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat
    userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc
    pkey_free statx io_pgetevents rseq kexec_file_load`,
  ],
];

/** From 424 on, every architecture numbers new calls alike. */
const SHARED_RUN: readonly [number, string] = [
  424,
  `
    pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount
    fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2
    process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
    landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv
    set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait
    futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
    setxattrat getxattrat listxattrat removexattrat open_tree_attr`,
];

const RUNS: Readonly<Record<Architecture, NumberRuns>> = { x64: X64_RUNS, arm64: ARM64_RUNS };

const FILES = `
  read write open close stat fstat lstat lseek pread64 pwrite64 readv writev preadv pwritev preadv2
  pwritev2 access faccessat faccessat2 pipe pipe2 dup dup2 dup3 fcntl flock fsync fdatasync
  truncate ftruncate getdents getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir
  mkdirat rmdir creat link linkat unlink unlinkat symlink symlinkat readlink readlinkat chmod
  fchmod fchmodat fchmodat2 chown fchown lchown fchownat umask utime utimes utimensat futimesat
  statfs fstatfs ustat sync syncfs sync_file_range fallocate fadvise64 readahead openat openat2
  newfstatat statx sendfile splice tee vmsplice copy_file_range close_range cachestat setxattr
  lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr
  lremovexattr fremovexattr setxattrat getxattrat listxattrat removexattrat inotify_init
  inotify_init1 inotify_add_watch inotify_rm_watch memfd_create landlock_create_ruleset
  landlock_add_rule landlock_restrict_self`;

const WAITING = `
  poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
  epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
  futex futex_waitv futex_wake futex_wait futex_requeue set_robust_list get_robust_list nanosleep
  clock_nanosleep pause restart_syscall`;

const MEMORY = `
  mmap mprotect munmap brk mremap msync mincore madvise mlock mlock2 munlock mlockall munlockall
  remap_file_pages pkey_mprotect pkey_alloc pkey_free membarrier get_mempolicy mseal
  map_shadow_stack`;

const PROCESSES = `
  fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid setpgid
  getpgrp getsid setsid set_tid_address rseq arch_prctl getcpu getpriority setpriority ioprio_get
  ioprio_set sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler
  sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_setaffinity
  sched_getaffinity sched_setattr sched_getattr getrlimit setrlimit prlimit64 getrusage times
  pidfd_open process_mrelease`;

const SIGNALS = `
  kill tkill tgkill pidfd_send_signal rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending
  rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo rt_sigsuspend sigaltstack`;

const IDENTITY = `
  getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid
  setresuid setresgid setfsuid setfsgid setgroups capget capset uname sysinfo getrandom`;

const TIME = `
  time gettimeofday clock_gettime clock_getres alarm getitimer setitimer timer_create timer_settime
  timer_gettime timer_getoverrun timer_delete`;

const SOCKETS = `
  connect accept accept4 bind listen getsockname getpeername setsockopt getsockopt sendto recvfrom
  sendmsg recvmsg sendmmsg recvmmsg shutdown`;

const SYSTEM_V_AND_POSIX_IPC = `
  shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open
  mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`;

/** Names a cell may call without a look at the arguments. Every other known name is refused. */
export const ALLOWED_CALLS: readonly string[] = [
  FILES,
  WAITING,
  MEMORY,
  PROCESSES,
  SIGNALS,
  IDENTITY,
  TIME,
  SOCKETS,
  SYSTEM_V_AND_POSIX_IPC,
].flatMap(words);

/** What the init of a session needs as well to make checkpoints of the other processes. */
export const INIT_CALLS: readonly string[] = [
  ...ALLOWED_CALLS,
  // The last one for the processes that it starts, which may do less.
  ...words("ptrace pidfd_getfd process_vm_readv process_vm_writev seccomp"),
];

/** What a JavaScript engine with threads calls to compute and to speak on streams it was given. */
export const ENGINE_CALLS: readonly string[] = words(`
  read write readv writev pread64 close open openat stat fstat lstat newfstatat statx lseek access
  faccessat faccessat2 readlink readlinkat getdents64 getcwd fcntl dup dup2 dup3 pipe2
  mmap mprotect munmap mremap brk madvise mincore membarrier pkey_alloc pkey_free pkey_mprotect
  futex set_robust_list get_robust_list rseq set_tid_address arch_prctl getpid getppid gettid
  exit exit_group wait4 waitid kill tgkill execve
  rt_sigaction rt_sigprocmask rt_sigreturn rt_sigtimedwait sigaltstack restart_syscall
  epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 poll ppoll nanosleep clock_nanosleep
  clock_gettime clock_getres gettimeofday time sched_yield sched_getaffinity sched_getparam
  sched_getscheduler getpriority getcpu getrandom uname sysinfo getrlimit prlimit64 getrusage times
  getuid geteuid getgid getegid getresuid getresgid capget
  getsockname getpeername getsockopt setsockopt shutdown sendmsg recvmsg sendto recvfrom`);

/** The number of every system call this version knows, by name. */
export function syscallNumbers(architecture: Architecture): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const [first, names] of [...RUNS[architecture], SHARED_RUN]) {
    for (const [index, name] of words(names).entries()) {
      numbers.set(name, first + index);
    }
  }
  return numbers;
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
