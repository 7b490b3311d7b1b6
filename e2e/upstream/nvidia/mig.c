// The functions that NVIDIA's device plugin and nvidia-ctk call for a GPU with MIG instances.
// They extend the stub of the unit tests (gpu/nvml/testdata/stub/nvml.c). All instances of a
// GPU have the profile in its line "profile". Each compute instance fills its GPU instance.

// kind reads the number of slices and the GiB of memory from "3g.40gb".
static nvmlReturn_t kind(unsigned int card, unsigned int *slices, unsigned int *memory) {
	char value[32];
	nvmlReturn_t ret = of_card(card, "profile", value, sizeof value);
	if (ret == NVML_SUCCESS && sscanf(value, "%ug.%ugb", slices, memory) != 2)
		ret = NVML_ERROR_UNKNOWN;
	return ret;
}

// profile returns the library's profile ID of instances with so many slices, for GPU instances
// and compute instances.
static unsigned int profile(unsigned int slices) { return slices == 7 ? NVML_GPU_INSTANCE_PROFILE_7_SLICE : slices - 1; }

// place_of returns the handle of a device for the GPU and the part of an instance.
static nvmlDevice_t place_of(void *instance) {
	nvmlDevice_t d = {instance};
	return d;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *attributes) {
	unsigned int slices = 0, memory = 0;
	nvmlReturn_t ret = kind(card_of(d), &slices, &memory);
	memset(attributes, 0, sizeof *attributes);
	attributes->gpuInstanceSliceCount = attributes->computeInstanceSliceCount = slices;
	attributes->memorySizeMB = 1024ULL * memory;
	return part_of(d) ? ret : NVML_ERROR_NOT_SUPPORTED;
}

// The IDs are those of nvmlDeviceGetGpuInstanceId.
nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t d, unsigned int id, nvmlGpuInstance_t *instance) {
	unsigned int parts;
	nvmlReturn_t ret = number(d, "parts", 0, &parts);
	if (ret != NVML_SUCCESS || id < 7 || id > 6 + parts)
		return NVML_ERROR_NOT_FOUND;
	instance->handle = (void *)handle(card_of(d), id - 6).handle;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id, nvmlComputeInstance_t *compute) {
	compute->handle = (void *)instance.handle;
	return id ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info) {
	nvmlDevice_t d = place_of(instance.handle);
	unsigned int slices = 0, memory;
	nvmlReturn_t ret = kind(card_of(d), &slices, &memory);
	memset(info, 0, sizeof *info);
	info->device = handle(card_of(d), 0);
	info->id = 6 + part_of(d);
	info->profileId = profile(slices);
	return ret;
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute, nvmlComputeInstanceInfo_t *info) {
	nvmlDevice_t d = place_of(compute.handle);
	unsigned int slices = 0, memory;
	nvmlReturn_t ret = kind(card_of(d), &slices, &memory);
	memset(info, 0, sizeof *info);
	info->device = handle(card_of(d), 0);
	info->gpuInstance.handle = (void *)compute.handle;
	info->profileId = profile(slices);
	return ret;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t d, unsigned int which, nvmlGpuInstanceProfileInfo_t *info) {
	unsigned int slices = 0, memory = 0;
	nvmlReturn_t ret = kind(card_of(d), &slices, &memory);
	memset(info, 0, sizeof *info);
	info->id = which;
	info->sliceCount = slices;
	info->memorySizeMB = 1024ULL * memory;
	return ret == NVML_SUCCESS && which != profile(slices) ? NVML_ERROR_NOT_SUPPORTED : ret;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned int which, unsigned int engine, nvmlComputeInstanceProfileInfo_t *info) {
	unsigned int slices = 0, memory;
	nvmlReturn_t ret = kind(card_of(place_of(instance.handle)), &slices, &memory);
	memset(info, 0, sizeof *info);
	info->id = which;
	info->sliceCount = slices;
	return ret == NVML_SUCCESS && (engine || which != profile(slices)) ? NVML_ERROR_NOT_SUPPORTED : ret;
}
