// The Makefile includes this file first in every C file of airgap-nvml, also in those of the Go
// runtime. It binds them to symbols in glibc 2.28 of RHEL 8. Otherwise a newer glibc on the build host
// would bind them to its symbols, up to GLIBC_2.34, where libpthread and libdl became part of libc.
#if !defined(__ASSEMBLER__) && !defined(AIRGAP_GLIBC_H)
#define AIRGAP_GLIBC_H

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define DLINFO "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#define DLINFO FIRST
#else
#error "set the first glibc version of this architecture"
#endif

#define BIND(name, version) __asm__(".symver " #name ", " #name "@" version)

BIND(dlopen, FIRST);
BIND(dlsym, FIRST);
BIND(dlclose, FIRST);
BIND(dlerror, FIRST);
BIND(dlinfo, DLINFO);
BIND(pthread_create, FIRST);
BIND(pthread_detach, FIRST);
BIND(pthread_sigmask, FIRST);
BIND(pthread_getattr_np, FIRST);
BIND(pthread_attr_getstack, FIRST);
BIND(pthread_attr_getstacksize, FIRST);
BIND(pthread_key_create, FIRST);
BIND(pthread_setspecific, FIRST);

#endif
