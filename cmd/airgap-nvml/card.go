//go:build cgo && linux

package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	report "airgap.dev/airgap/gpu/nvml"
)

// reader reads one card into its form.
type reader struct {
	library
	device
	card *report.Card
}

func (l library) card(index int, d device) report.Card {
	card := report.Card{Index: index, Lost: d.lost}
	if d.lost == "" {
		r := reader{l, d, &card}
		r.identity()
		r.ecc()
		r.rows()
		r.mig()
		r.links()
		r.fabric()
		r.heat()
		r.state()
	}
	return card
}

// value is what call gives, or nil where the library has no such function or
// the card no such value. A card that does not answer is noted.
func value[T any](r reader, function string, call func() (T, nvml.Return)) *T {
	if !r.has(function) {
		return nil
	}
	v, ret := call()
	switch ret {
	case nvml.SUCCESS:
		return &v
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED:
		r.card.Lost = said(ret)
	}
	return nil
}

func (r reader) identity() {
	for _, name := range []struct {
		function string
		call     func() (string, nvml.Return)
		into     *string
	}{
		{"nvmlDeviceGetUUID", r.GetUUID, &r.card.UUID},
		{"nvmlDeviceGetName", r.GetName, &r.card.Name},
		{"nvmlDeviceGetSerial", r.GetSerial, &r.card.Serial},
	} {
		if v := value(r, name.function, name.call); v != nil {
			*name.into = *v
		}
	}
	if p := value(r, "nvmlDeviceGetPciInfo_v3", r.GetPciInfo); p != nil {
		r.card.Address = report.Address(p.Domain, p.Bus, p.Device, 0) // a GPU is its card's first function
	}
}

func (r reader) ecc() {
	mode := value(r, "nvmlDeviceGetEccMode", func() (report.Mode, nvml.Return) {
		current, pending, ret := r.GetEccMode()
		return report.Mode{Current: current == nvml.FEATURE_ENABLED, Pending: pending == nvml.FEATURE_ENABLED}, ret
	})
	if mode != nil {
		r.card.ECC = &report.ECC{Mode: *mode, Volatile: r.errors(nvml.VOLATILE_ECC), Aggregate: r.errors(nvml.AGGREGATE_ECC)}
	}
}

func (r reader) errors(since nvml.EccCounterType) report.Errors {
	count := func(kind nvml.MemoryErrorType) *uint64 {
		return value(r, "nvmlDeviceGetTotalEccErrors", func() (uint64, nvml.Return) { return r.GetTotalEccErrors(kind, since) })
	}
	return report.Errors{Corrected: count(nvml.MEMORY_ERROR_TYPE_CORRECTED), Uncorrected: count(nvml.MEMORY_ERROR_TYPE_UNCORRECTED)}
}

func (r reader) rows() {
	r.card.Rows = value(r, "nvmlDeviceGetRemappedRows", func() (report.Rows, nvml.Return) {
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
	r.card.MIG = &report.MIG{Mode: *mode}
	most := value(r, "nvmlDeviceGetMaxMigDeviceCount", r.GetMaxMigDeviceCount)
	if !mode.Current || most == nil {
		return
	}
	for i := range *most { // places, of which any may be empty
		part := value(r, "nvmlDeviceGetMigDeviceHandleByIndex", func() (nvml.Device, nvml.Return) { return r.GetMigDeviceHandleByIndex(i) })
		if part != nil {
			r.card.MIG.Instances = append(r.card.MIG.Instances, r.instance(*part))
		}
	}
}

func (r reader) instance(part nvml.Device) report.Instance {
	var found report.Instance
	if v := value(r, "nvmlDeviceGetUUID", part.GetUUID); v != nil {
		found.UUID = *v
	}
	if v := value(r, "nvmlDeviceGetName", part.GetName); v != nil {
		found.Name = *v
	}
	found.GPU = value(r, "nvmlDeviceGetGpuInstanceId", part.GetGpuInstanceId)
	found.Compute = value(r, "nvmlDeviceGetComputeInstanceId", part.GetComputeInstanceId)
	return found
}

// links asks for one after the other until the card says that it has no more.
func (r reader) links() {
	for i := range nvml.NVLINK_MAX_LINKS {
		state := value(r, "nvmlDeviceGetNvLinkState", func() (nvml.EnableState, nvml.Return) { return r.GetNvLinkState(i) })
		if state == nil {
			return
		}
		r.card.NVLinks = append(r.card.NVLinks, *state == nvml.FEATURE_ENABLED)
	}
}

func (r reader) fabric() {
	info := value(r, "nvmlDeviceGetGpuFabricInfo", r.GetGpuFabricInfo)
	if info == nil {
		return
	}
	switch info.State {
	case nvml.GPU_FABRIC_STATE_NOT_STARTED:
		r.card.Fabric = &report.Fabric{State: report.FabricNotStarted}
	case nvml.GPU_FABRIC_STATE_IN_PROGRESS:
		r.card.Fabric = &report.Fabric{State: report.FabricInProgress}
	case nvml.GPU_FABRIC_STATE_COMPLETED:
		r.card.Fabric = &report.Fabric{State: report.FabricCompleted}
		if ret := nvml.Return(info.Status); ret != nvml.SUCCESS {
			r.card.Fabric.Error = said(ret)
		}
	}
}

func (r reader) state() {
	r.card.PowerDraw = number(value(r, "nvmlDeviceGetPowerUsage", r.GetPowerUsage))
	r.card.PowerLimit = number(value(r, "nvmlDeviceGetEnforcedPowerLimit", r.GetEnforcedPowerLimit))
	if m := value(r, "nvmlDeviceGetMemoryInfo", r.GetMemoryInfo); m != nil {
		total := int64(m.Total)
		r.card.Memory = &total
	}
}

func number(v *uint32) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}
