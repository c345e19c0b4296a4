# The source of _MIDDLE in reparented_fork.py; test_reparented_fork.py assembles it and compares the bytes.
#
#   long middle(int told[2], int *thread_id)
#
# Gives 0 in the child, the pid of the middle process (or a negative errno) in the caller. told[0] becomes
# the pid of the child or a negative errno, told[1] how the middle process ended.
#
# The middle process shares the caller's memory and stack, so it must not write to the stack: no push, no call.
# System calls keep all registers but rax, rcx and r11.

        .intel_syntax noprefix

        .set SYS_clone, 56
        .set SYS_exit, 60
        .set SYS_wait4, 61
        .set SYS_kill, 62

        .set CLONE_VM, 0x100
        .set CLONE_FS, 0x200
        .set CLONE_FILES, 0x400
        .set CLONE_CHILD_CLEARTID, 0x00200000
        .set CLONE_CHILD_SETTID, 0x01000000
        .set SIGCHLD, 17
        .set SIGKILL, 9
        .set WUNTRACED, 2
        .set __WALL, 0x40000000
        .set STOPPED, 0x7f              # the low byte of the status of a stopped process

        .text
middle:
        mov     r9, rdi                 # told
        mov     r10, rsi                # where clone keeps the thread's id, as fork() of the C library has it

        # clone(CLONE_VM | CLONE_FS | CLONE_FILES): the middle process, on our memory and without a signal at its end.
        mov     edi, CLONE_VM | CLONE_FS | CLONE_FILES
        xor     esi, esi                # the same stack
        xor     edx, edx
        xor     r8d, r8d
        mov     eax, SYS_clone
        syscall
        test    eax, eax
        js      leave                   # failed: give the errno
        jnz     caller

        # In the middle process: clone as fork does, which makes the only copy of the memory.
        mov     edi, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD
        mov     eax, SYS_clone
        syscall
        test    eax, eax
        jz      leave                   # in the child: give 0
        mov     [r9], eax               # told[0] = pid or errno
        xor     edi, edi
        mov     eax, SYS_exit
        syscall                         # the child gets the first process of its namespace as parent

caller:
        mov     r8d, eax                # the pid of the middle process
wait:
        # wait4(middle, &told[1], __WALL | WUNTRACED, NULL)
        mov     edi, r8d
        lea     rsi, [r9 + 4]
        mov     edx, __WALL | WUNTRACED
        xor     r10d, r10d
        mov     eax, SYS_wait4
        syscall
        cmp     eax, r8d
        jne     over
        cmp     byte ptr [r9 + 4], STOPPED
        jne     over

        # A cell stopped it: kill it, or every session would wait with it.
        mov     edi, r8d
        mov     esi, SIGKILL
        mov     eax, SYS_kill
        syscall
        jmp     wait
over:
        mov     eax, r8d
leave:
        cdqe
        ret
