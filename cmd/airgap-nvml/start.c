// The start file of gcc calls __libc_start_main, so no source can bind it. The Makefile redirects the
// call to this file (ld --wrap). The only difference between the old and the new version: the old one
// does not run the constructors of the program. There are none.
#include "glibc.h"

typedef int main_function(int, char **, char **);
typedef void hook(void);

int first_libc_start_main(main_function *, int, char **, hook *, hook *, hook *, void *);
__asm__(".symver first_libc_start_main, __libc_start_main@" FIRST);

int __wrap___libc_start_main(main_function *program, int argc, char **argv, hook *init, hook *fini, hook *at_exit, void *stack_end) {
	return first_libc_start_main(program, argc, argv, init, fini, at_exit, stack_end);
}
