// A libcuda.so.1 that has nothing but its name: what is there gets mounted into pods.
int cuInit(unsigned int flags) { return flags ? 1 : 100; } // CUDA_ERROR_NO_DEVICE
