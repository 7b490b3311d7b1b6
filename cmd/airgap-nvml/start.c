// The one call of glibc that is in no source: gcc's start file makes it, and the
// Makefile has the linker send it here (--wrap). The old version does what the
// new one does but for running the program's own constructors; there are none.
#include "glibc.h"

typedef int main_function(int, char **, char **);
typedef void hook(void);

int first_libc_start_main(main_function *, int, char **, hook *, hook *, hook *, void *);
__asm__(".symver first_libc_start_main, __libc_start_main@" FIRST);

int __wrap___libc_start_main(main_function *program, int argc, char **argv, hook *init, hook *fini, hook *at_exit, void *stack_end) {
	return first_libc_start_main(program, argc, argv, init, fini, at_exit, stack_end);
}
