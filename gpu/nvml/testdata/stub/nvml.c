// A libnvidia-ml.so.1 without a card. It has the functions that airgap-nvml
// calls, and those of NVIDIA's device plugin and nvidia-ctk, with the prototypes
// of NVIDIA's own nvml.h, and answers from the file that AIRGAP_NVML_STUB names.
// With -DOLD it lacks those that came after Volta.
//
// With -DINSTALLED it is the library of that driver on a server of the lab, or on
// one that is mounted somewhere: what the driver would tell lies in its
// /proc/driver/nvidia/stub, and without that no driver is loaded.
//
// A line of the file is a key and its value:
//
//	bus 17 3d        the cards, by their numbers on the PCI bus
//	*.name NVIDIA …  of every card
//	1.rows 0 2 1 0   of card 1, before the line for every card
//	xid 1 79         an event; more lines, more events
//
// What has no line is not supported; !15 makes the call return that code.
#define _GNU_SOURCE // dladdr
#include <dlfcn.h>
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CARDS 16
#define PARTS 8 // of a card: itself and MIG instances

static char handles[CARDS][PARTS];
static unsigned int seen; // events

// go-nvml's copy of the header wraps handles in a struct, which is passed as the
// pointer in it would be.
static nvmlDevice_t handle(unsigned int card, unsigned int part) {
	nvmlDevice_t d = {(void *)&handles[card][part]};
	return d;
}

static unsigned int place(nvmlDevice_t d) { return (unsigned int)((char *)d.handle - handles[0]); }
static unsigned int card_of(nvmlDevice_t d) { return place(d) / PARTS; }
static unsigned int part_of(nvmlDevice_t d) { return place(d) % PARTS; }

#ifdef INSTALLED
// answers opens the driver's file of the host whose library this is.
static FILE *answers(void) {
	char path[4096];
	const char *usr;
	Dl_info self;
	if (!dladdr(handles, &self) || !(usr = strstr(self.dli_fname, "/usr/lib64/")))
		return NULL;
	snprintf(path, sizeof path, "%.*s/proc/driver/nvidia/stub", (int)(usr - self.dli_fname), self.dli_fname);
	return fopen(path, "r");
}
#else
static FILE *answers(void) {
	const char *path = getenv("AIRGAP_NVML_STUB");
	return path ? fopen(path, "r") : NULL;
}
#endif

// line finds the nth line with the key and leaves its value in value.
static int line(const char *key, unsigned int nth, char *value, size_t size) {
	FILE *f = answers();
	char text[512];
	int found = 0;
	while (f && !found && fgets(text, sizeof text, f)) {
		char *rest = strchr(text, ' ');
		text[strcspn(text, "\n")] = 0;
		if (!rest)
			continue;
		*rest = 0;
		if (!strcmp(text, key) && nth-- == 0) {
			snprintf(value, size, "%s", rest + 1);
			found = 1;
		}
	}
	if (f)
		fclose(f);
	return found;
}

static nvmlReturn_t answer(const char *key, char *value, size_t size) {
	if (!line(key, 0, value, size))
		return NVML_ERROR_NOT_SUPPORTED;
	return value[0] == '!' ? (nvmlReturn_t)atoi(value + 1) : NVML_SUCCESS;
}

static nvmlReturn_t of_card(unsigned int card, const char *key, char *value, size_t size) {
	char full[64];
	snprintf(full, sizeof full, "%u.%s", card, key);
	if (line(full, 0, value, size))
		return answer(full, value, size);
	snprintf(full, sizeof full, "*.%s", key);
	return answer(full, value, size);
}

// numbers reads as many as there are out.
static nvmlReturn_t numbers(unsigned int card, const char *key, unsigned long long *out, int count) {
	char value[512], *rest = value;
	nvmlReturn_t ret = of_card(card, key, value, sizeof value);
	for (int i = 0; ret == NVML_SUCCESS && i < count; i++)
		out[i] = strtoull(rest, &rest, 10);
	return ret;
}

static nvmlReturn_t number(nvmlDevice_t d, const char *key, int which, unsigned int *out) {
	unsigned long long all[4] = {0};
	nvmlReturn_t ret = numbers(card_of(d), key, all, which + 1);
	*out = (unsigned int)all[which];
	return ret;
}

static nvmlReturn_t bus(unsigned int card, unsigned int *out) {
	char value[512], *rest = value;
	if (answer("bus", value, sizeof value) != NVML_SUCCESS)
		return NVML_ERROR_NOT_FOUND;
	for (unsigned int i = 0; *rest; i++) {
		*out = (unsigned int)strtoul(rest, &rest, 16);
		if (i == card)
			return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlInit_v2(void) {
	char value[16];
#ifdef INSTALLED
	if (answer("driver", value, sizeof value) != NVML_SUCCESS)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	if (strcmp(value, INSTALLED))
		return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
#endif
	nvmlReturn_t ret = answer("init", value, sizeof value);
	return ret == NVML_ERROR_NOT_SUPPORTED ? NVML_SUCCESS : ret;
}

nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }

const char *nvmlErrorString(nvmlReturn_t ret) {
	switch (ret) {
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_RESET_REQUIRED: return "GPU requires reset";
	case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
	default: return "Unknown Error";
	}
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) { return answer("driver", version, length); }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
	unsigned int ignored;
	for (*count = 0; bus(*count, &ignored) == NVML_SUCCESS; ++*count) {
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
	char value[16];
	nvmlReturn_t ret = of_card(index, "handle", value, sizeof value);
	*device = handle(index, 0);
	return ret == NVML_ERROR_NOT_SUPPORTED ? NVML_SUCCESS : ret;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
	unsigned int count;
	char own[80];
	nvmlDeviceGetCount_v2(&count);
	for (unsigned int i = 0; i < count * PARTS; i++) {
		*device = handle(i / PARTS, i % PARTS);
		nvmlDeviceGetUUID(*device, own, sizeof own);
		if (!strcmp(own, uuid))
			return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t d, unsigned int *index) {
	*index = card_of(d);
	return NVML_SUCCESS;
}

// The device nodes have the numbers of the cards.
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned int *minor) { return nvmlDeviceGetIndex(d, minor); }

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
	unsigned int first, second;
	nvmlReturn_t ret = number(d, "capability", 0, &first);
	number(d, "capability", 1, &second);
	*major = (int)first;
	*minor = (int)second;
	return ret;
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t d, nvmlBrandType_t *brand) {
	(void)d;
	*brand = NVML_BRAND_NVIDIA;
	return NVML_SUCCESS;
}

// A UUID and a serial number end with the number of the card, and of its part.
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *uuid, unsigned int length) {
	char value[64];
	nvmlReturn_t ret = of_card(card_of(d), "uuid", value, sizeof value);
	snprintf(uuid, length, "%s-%s-%010u%02u", part_of(d) ? "MIG" : "GPU", value, card_of(d), part_of(d));
	return ret;
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t d, char *serial, unsigned int length) {
	char value[64];
	nvmlReturn_t ret = of_card(card_of(d), "serial", value, sizeof value);
	snprintf(serial, length, "%.9s%04u", value, card_of(d));
	return ret;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned int length) {
	char value[64], profile[32];
	nvmlReturn_t ret = of_card(card_of(d), "name", value, sizeof value);
	if (part_of(d))
		of_card(card_of(d), "profile", profile, sizeof profile);
	snprintf(name, length, part_of(d) ? "%s MIG %s" : "%s", value, profile);
	return ret;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci) {
	memset(pci, 0, sizeof *pci);
	nvmlReturn_t ret = bus(card_of(d), &pci->bus);
	snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
	return ret;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, nvmlEnableState_t *current, nvmlEnableState_t *pending) {
	unsigned int now, then;
	nvmlReturn_t ret = number(d, "ecc", 0, &now);
	number(d, "ecc", 1, &then);
	*current = now;
	*pending = then;
	return ret;
}

// errors are corrected and uncorrected ones since the start, then those in the card's life.
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long *count) {
	unsigned long long all[4];
	nvmlReturn_t ret = numbers(card_of(d), "errors", all, 4);
	*count = all[2 * counter + type];
	return ret;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned int link, nvmlEnableState_t *active) {
	char value[64];
	nvmlReturn_t ret = of_card(card_of(d), "links", value, sizeof value);
	if (ret == NVML_SUCCESS && link >= strlen(value))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (ret == NVML_SUCCESS)
		*active = value[link] == '1' ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return ret;
}

// All links lead to a switch, which is not among the cards.
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned int link, nvmlPciInfo_t *pci) {
	(void)d, (void)link;
	memset(pci, 0, sizeof *pci);
	snprintf(pci->busId, sizeof pci->busId, "00000000:00:00.0");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t *level) {
	(void)one, (void)other;
	*level = NVML_TOPOLOGY_SYSTEM;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t sensor, unsigned int *temperature) {
	return sensor == NVML_TEMPERATURE_GPU ? number(d, "temperature", 0, temperature) : NVML_ERROR_INVALID_ARGUMENT;
}

// thresholds are where the card turns itself off and where it slows itself down.
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t d, nvmlTemperatureThresholds_t type, unsigned int *temperature) {
	return type <= NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? number(d, "thresholds", (int)type, temperature) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *milliwatts) { return number(d, "power", 0, milliwatts); }

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *milliwatts) { return number(d, "power", 1, milliwatts); }

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *memory) {
	memset(memory, 0, sizeof *memory);
	return numbers(card_of(d), "memory", &memory->total, 1);
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
	set->handle = (void *)&seen;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set) {
	(void)d, (void)set;
	return types == nvmlEventTypeXidCriticalError ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t d, unsigned long long *types) {
	(void)d;
	*types = nvmlEventTypeXidCriticalError;
	return NVML_SUCCESS;
}

// After the last event of a file there is no time to wait for: none will come. To
// an installed driver's one may be added.
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *event, unsigned int milliseconds) {
	char value[64], *rest = value;
	(void)set, (void)milliseconds;
	if (!line("xid", seen, value, sizeof value)) {
#ifdef INSTALLED
		usleep(1000 * milliseconds);
#endif
		return NVML_ERROR_TIMEOUT;
	}
	seen++;
	memset(event, 0, sizeof *event);
	event->device = handle((unsigned int)strtoul(rest, &rest, 10), 0);
	event->eventType = nvmlEventTypeXidCriticalError;
	event->eventData = strtoull(rest, NULL, 10);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
	(void)set;
	return NVML_SUCCESS;
}

#ifndef OLD
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
	char value[16];
	nvmlReturn_t ret = answer("cuda", value, sizeof value);
	*version = ret == NVML_SUCCESS ? atoi(value) : 0;
	return ret;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending, unsigned int *failed) {
	number(d, "rows", 0, corrected);
	number(d, "rows", 1, uncorrected);
	number(d, "rows", 2, pending);
	return number(d, "rows", 3, failed);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *current, unsigned int *pending) {
	number(d, "mig", 0, current);
	return number(d, "mig", 1, pending);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned int *count) {
	unsigned int on;
	nvmlReturn_t ret = number(d, "mig", 0, &on);
	*count = ret == NVML_SUCCESS && on ? PARTS - 1 : 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int index, nvmlDevice_t *part) {
	unsigned int parts;
	nvmlReturn_t ret = number(d, "parts", 0, &parts);
	*part = handle(card_of(d), index + 1);
	return ret == NVML_SUCCESS && index >= parts ? NVML_ERROR_NOT_FOUND : ret;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t d, unsigned int *is) {
	*is = part_of(d) > 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t part, nvmlDevice_t *d) {
	*d = handle(card_of(part), 0);
	return NVML_SUCCESS;
}

// The seven smallest instances have the numbers 7 to 13.
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned int *id) {
	*id = 6 + part_of(d);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned int *id) {
	(void)d;
	*id = 0;
	return NVML_SUCCESS;
}

// margin is what is left to the target, then the margins of the thresholds.
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t d, nvmlMarginTemperature_t *margin) {
	if (margin->version != nvmlMarginTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return number(d, "margin", 0, (unsigned int *)&margin->marginTemperature);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, nvmlFieldValue_t *values) {
	for (int i = 0; i < count; i++) {
		int which = (int)values[i].fieldId - NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT;
		values[i].valueType = NVML_VALUE_TYPE_SIGNED_INT;
		values[i].nvmlReturn = which == 0 || which == 1 ? number(d, "margin", 1 + which, (unsigned int *)&values[i].value.siVal) : NVML_ERROR_NOT_SUPPORTED;
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t d, nvmlGpuFabricInfo_t *info) {
	unsigned int state, status;
	nvmlReturn_t ret = number(d, "fabric", 0, &state);
	number(d, "fabric", 1, &status);
	memset(info, 0, sizeof *info);
	info->state = (nvmlGpuFabricState_t)state;
	info->status = status;
	return ret;
}
#endif
