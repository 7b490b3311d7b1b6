// A stub of libcuda.so.1. The driver's libraries on the host are mounted into pods.
int cuInit(unsigned int flags) { return flags ? 1 : 100; } // CUDA_ERROR_NO_DEVICE
