//go:build cgo && linux

package main

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	report "airgap.dev/airgap/gpu/nvml"
)

// watch listens for the cards' Xid events for that long; what was before it the
// library does not tell. The result is nil where no card has such events.
func (l library) watch(devices []device, long time.Duration) ([]report.Xid, error) {
	if err := l.lacks("nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2", "nvmlEventSetFree"); err != nil {
		return nil, err
	}
	set, ret := l.EventSetCreate()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("listen for Xid events: %s", said(ret))
	}
	defer set.Free()
	heard := 0
	for i, d := range devices {
		if d.lost != "" {
			continue
		}
		switch ret := d.RegisterEvents(nvml.EventTypeXidCriticalError, set); ret {
		case nvml.SUCCESS:
			heard++
		case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_GPU_IS_LOST: // of the second, reading the card tells
		default:
			return nil, fmt.Errorf("listen for Xid events of GPU %d: %s", i, said(ret))
		}
	}
	if heard == 0 {
		return nil, nil
	}
	return events(set, devices, time.Now().Add(long))
}

// events come one at a time until the end, or until a card is lost: reading the
// cards then tells which. The result is not nil.
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

// indexOf is -1 for a card that is none of devices.
func indexOf(devices []device, of nvml.Device) int {
	for i, d := range devices {
		if d.Device == of {
			return i
		}
	}
	return -1
}
