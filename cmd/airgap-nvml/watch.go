//go:build cgo && linux

package main

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	report "airgap.dev/airgap/gpu/nvml"
)

// watch waits for Xid events of the GPUs for the duration. The library does not report earlier events.
// The result is nil if no GPU supports Xid events.
func (l library) watch(devices []device, long time.Duration) ([]report.Xid, error) {
	if err := l.require("nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2", "nvmlEventSetFree"); err != nil {
		return nil, err
	}
	set, ret := l.EventSetCreate()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("listen for Xid events: %s", said(ret))
	}
	defer set.Free()
	registered := 0
	for i, d := range devices {
		if d.lost != "" {
			continue
		}
		switch ret := d.RegisterEvents(nvml.EventTypeXidCriticalError, set); ret {
		case nvml.SUCCESS:
			registered++
		case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_GPU_IS_LOST: // reading the GPU later reports a lost GPU
		default:
			return nil, fmt.Errorf("listen for Xid events of GPU %d: %s", i, said(ret))
		}
	}
	if registered == 0 {
		return nil, nil
	}
	return events(set, devices, time.Now().Add(long))
}

// events collects events until the end, or until a GPU is lost: reading the GPUs then shows which one.
// The result is not nil.
func events(set nvml.EventSet, devices []device, end time.Time) ([]report.Xid, error) {
	all := []report.Xid{}
	for left := time.Until(end); left > 0; left = time.Until(end) {
		event, ret := set.Wait(uint32(left.Milliseconds() + 1))
		switch ret {
		case nvml.SUCCESS:
			all = append(all, report.Xid{Card: indexOf(devices, event.Device), Number: event.EventData})
		case nvml.ERROR_TIMEOUT, nvml.ERROR_GPU_IS_LOST:
			return all, nil
		default:
			return nil, fmt.Errorf("wait for Xid events: %s", said(ret))
		}
	}
	return all, nil
}

// indexOf returns -1 for a GPU that is not in devices.
func indexOf(devices []device, of nvml.Device) int {
	for i, d := range devices {
		if d.Device == of {
			return i
		}
	}
	return -1
}
