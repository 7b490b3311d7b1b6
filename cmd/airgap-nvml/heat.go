//go:build cgo && linux

package main

import (
	"cmp"
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	report "airgap.dev/airgap/gpu/nvml"
)

// heat reads limits as temperatures, or as margins if the GPU does not report temperatures. nvml.h
// announces only margins from Ada on.
func (r reader) heat() {
	r.gpu.Temperature = number(value(r, "nvmlDeviceGetTemperature", func() (uint32, nvml.Return) { return r.GetTemperature(nvml.TEMPERATURE_GPU) }))
	margin := r.margin()
	limit := func(threshold nvml.TemperatureThresholds, field uint32) *int {
		at := number(value(r, "nvmlDeviceGetTemperatureThreshold", func() (uint32, nvml.Return) { return r.GetTemperatureThreshold(threshold) }))
		return cmp.Or(at, report.AtMargin(r.gpu.Temperature, margin, r.field(field)))
	}
	r.gpu.SlowdownTemperature = limit(nvml.TEMPERATURE_THRESHOLD_SLOWDOWN, nvml.FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT)
	r.gpu.ShutdownTemperature = limit(nvml.TEMPERATURE_THRESHOLD_SHUTDOWN, nvml.FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT)
}

func (r reader) margin() *int {
	return value(r, "nvmlDeviceGetMarginTemperature", func() (int, nvml.Return) {
		m, ret := r.GetMarginTemperature()
		return int(m.MarginTemperature), ret
	})
}

// field returns a signed 32-bit value of the library by its number.
func (r reader) field(number uint32) *int {
	return value(r, "nvmlDeviceGetFieldValues", func() (int, nvml.Return) {
		one := []nvml.FieldValue{{FieldId: number}}
		if ret := r.GetFieldValues(one); ret != nvml.SUCCESS {
			return 0, ret
		}
		return int(int32(binary.NativeEndian.Uint32(one[0].Value[:]))), nvml.Return(one[0].NvmlReturn)
	})
}
