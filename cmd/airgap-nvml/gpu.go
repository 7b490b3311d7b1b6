//go:build cgo && linux

package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	report "airgap.dev/airgap/gpu/nvml"
)

// reader reads one GPU.
type reader struct {
	library
	device
	gpu *report.GPU
}

func (l library) gpu(index int, d device) report.GPU {
	gpu := report.GPU{Index: index, Lost: d.lost}
	if d.lost == "" {
		r := reader{l, d, &gpu}
		r.identity()
		r.ecc()
		r.rows()
		r.mig()
		r.links()
		r.fabric()
		r.heat()
		r.state()
	}
	return gpu
}

// value returns the result of call, or nil if the library does not have the function or the GPU does
// not have the value. It records a GPU that does not answer.
func value[T any](r reader, function string, call func() (T, nvml.Return)) *T {
	if !r.has(function) {
		return nil
	}
	v, ret := call()
	switch ret {
	case nvml.SUCCESS:
		return &v
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED:
		r.gpu.Lost = said(ret)
	}
	return nil
}

func (r reader) identity() {
	for _, name := range []struct {
		function string
		call     func() (string, nvml.Return)
		into     *string
	}{
		{"nvmlDeviceGetUUID", r.GetUUID, &r.gpu.UUID},
		{"nvmlDeviceGetName", r.GetName, &r.gpu.Name},
		{"nvmlDeviceGetSerial", r.GetSerial, &r.gpu.Serial},
	} {
		if v := value(r, name.function, name.call); v != nil {
			*name.into = *v
		}
	}
	if p := value(r, "nvmlDeviceGetPciInfo_v3", r.GetPciInfo); p != nil {
		r.gpu.Address = report.Address(p.Domain, p.Bus, p.Device, 0) // a GPU is function 0 of its PCI device
	}
}

func (r reader) ecc() {
	mode := value(r, "nvmlDeviceGetEccMode", func() (report.Mode, nvml.Return) {
		current, pending, ret := r.GetEccMode()
		return report.Mode{Current: current == nvml.FEATURE_ENABLED, Pending: pending == nvml.FEATURE_ENABLED}, ret
	})
	if mode != nil {
		r.gpu.ECC = &report.ECC{Mode: *mode, Volatile: r.errors(nvml.VOLATILE_ECC), Aggregate: r.errors(nvml.AGGREGATE_ECC)}
	}
}

func (r reader) errors(since nvml.EccCounterType) report.Errors {
	count := func(kind nvml.MemoryErrorType) *uint64 {
		return value(r, "nvmlDeviceGetTotalEccErrors", func() (uint64, nvml.Return) { return r.GetTotalEccErrors(kind, since) })
	}
	return report.Errors{Corrected: count(nvml.MEMORY_ERROR_TYPE_CORRECTED), Uncorrected: count(nvml.MEMORY_ERROR_TYPE_UNCORRECTED)}
}

func (r reader) rows() {
	r.gpu.Rows = value(r, "nvmlDeviceGetRemappedRows", func() (report.Rows, nvml.Return) {
		corrected, uncorrected, pending, failed, ret := r.GetRemappedRows()
		return report.Rows{Corrected: corrected, Uncorrected: uncorrected, Pending: pending, Failed: failed}, ret
	})
}

func (r reader) mig() {
	mode := value(r, "nvmlDeviceGetMigMode", func() (report.Mode, nvml.Return) {
		current, pending, ret := r.GetMigMode()
		return report.Mode{Current: current == nvml.DEVICE_MIG_ENABLE, Pending: pending == nvml.DEVICE_MIG_ENABLE}, ret
	})
	if mode == nil {
		return
	}
	r.gpu.MIG = &report.MIG{Mode: *mode}
	most := value(r, "nvmlDeviceGetMaxMigDeviceCount", r.GetMaxMigDeviceCount)
	if !mode.Current || most == nil {
		return
	}
	for i := range *most { // slots, which can be empty
		mig := value(r, "nvmlDeviceGetMigDeviceHandleByIndex", func() (nvml.Device, nvml.Return) { return r.GetMigDeviceHandleByIndex(i) })
		if mig != nil {
			r.gpu.MIG.Instances = append(r.gpu.MIG.Instances, r.instance(*mig))
		}
	}
}

func (r reader) instance(mig nvml.Device) report.Instance {
	var found report.Instance
	if v := value(r, "nvmlDeviceGetUUID", mig.GetUUID); v != nil {
		found.UUID = *v
	}
	if v := value(r, "nvmlDeviceGetName", mig.GetName); v != nil {
		found.Name = *v
	}
	found.GPU = value(r, "nvmlDeviceGetGpuInstanceId", mig.GetGpuInstanceId)
	found.Compute = value(r, "nvmlDeviceGetComputeInstanceId", mig.GetComputeInstanceId)
	return found
}

// links reads the NVLinks in order, until the GPU reports no link.
func (r reader) links() {
	for i := range nvml.NVLINK_MAX_LINKS {
		state := value(r, "nvmlDeviceGetNvLinkState", func() (nvml.EnableState, nvml.Return) { return r.GetNvLinkState(i) })
		if state == nil {
			return
		}
		r.gpu.NVLinks = append(r.gpu.NVLinks, *state == nvml.FEATURE_ENABLED)
	}
}

func (r reader) fabric() {
	info := value(r, "nvmlDeviceGetGpuFabricInfo", r.GetGpuFabricInfo)
	if info == nil {
		return
	}
	switch info.State {
	case nvml.GPU_FABRIC_STATE_NOT_STARTED:
		r.gpu.Fabric = &report.Fabric{State: report.FabricNotStarted}
	case nvml.GPU_FABRIC_STATE_IN_PROGRESS:
		r.gpu.Fabric = &report.Fabric{State: report.FabricInProgress}
	case nvml.GPU_FABRIC_STATE_COMPLETED:
		r.gpu.Fabric = &report.Fabric{State: report.FabricCompleted}
		if ret := nvml.Return(info.Status); ret != nvml.SUCCESS {
			r.gpu.Fabric.Error = said(ret)
		}
	}
}

func (r reader) state() {
	r.gpu.PowerDraw = number(value(r, "nvmlDeviceGetPowerUsage", r.GetPowerUsage))
	r.gpu.PowerLimit = number(value(r, "nvmlDeviceGetEnforcedPowerLimit", r.GetEnforcedPowerLimit))
	if m := value(r, "nvmlDeviceGetMemoryInfo", r.GetMemoryInfo); m != nil {
		total := int64(m.Total)
		r.gpu.Memory = &total
	}
}

func number(v *uint32) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}
