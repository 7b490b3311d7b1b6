// Included first in every C file of airgap-nvml, those of Go's runtime too, by
// the Makefile: it binds them to symbols that RHEL 8's glibc 2.28 has. A newer
// one to build with would bind them to its own, up to GLIBC_2.34, when
// libpthread and libdl became part of libc.
#if !defined(__ASSEMBLER__) && !defined(AIRGAP_GLIBC_H)
#define AIRGAP_GLIBC_H

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define DLINFO "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#define DLINFO FIRST
#else
#error "which glibc was the first on this architecture?"
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
