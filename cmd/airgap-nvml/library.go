//go:build cgo && linux

package main

import "C" // for start.c

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	report "airgap.dev/airgap/gpu/nvml"
)

// library is NVML. Check that a function exists before the first call: functions are bound on the
// first call, and a missing one ends the program.
type library struct{ nvml.Interface }

// open loads and starts the library of the driver on this host.
func open() (library, error) {
	l := library{nvml.New()}
	switch ret := l.Init(); ret {
	case nvml.SUCCESS:
		return l, l.require("nvmlShutdown", "nvmlErrorString", "nvmlSystemGetDriverVersion")
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return l, report.ErrNoLibrary
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return l, report.ErrNoDriver
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return l, report.ErrMismatch
	case nvml.ERROR_OPERATING_SYSTEM:
		return l, report.ErrBlocked
	default:
		return l, fmt.Errorf("start NVIDIA's library: %s", said(ret))
	}
}

// require returns an error if the library does not have one of the functions.
func (l library) require(functions ...string) error {
	missing := slices.DeleteFunc(functions, l.has)
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("NVIDIA's library has no %s: install the driver's libraries again", strings.Join(missing, ", "))
}

func (l library) has(function string) bool { return l.Extensions().LookupSymbol(function) == nil }

// said returns the message of the library for a return code, in Go memory.
func said(ret nvml.Return) string { return strings.Clone(ret.Error()) }

// versions returns the versions of the driver and of CUDA. cuda is empty if the library is too old.
func (l library) versions() (driver, cuda string, err error) {
	driver, ret := l.SystemGetDriverVersion()
	if ret != nvml.SUCCESS {
		return "", "", fmt.Errorf("read the driver version: %s", said(ret))
	}
	if !l.has("nvmlSystemGetCudaDriverVersion_v2") {
		return driver, "", nil
	}
	if v, ret := l.SystemGetCudaDriverVersion_v2(); ret == nvml.SUCCESS { // 13000 is 13.0
		cuda = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	return driver, cuda, nil
}

// device is a GPU, or the reason for a missing handle.
type device struct {
	nvml.Device
	lost string
}

func (l library) devices() ([]device, error) {
	if !l.has("nvmlDeviceGetCount_v2") || !l.has("nvmlDeviceGetHandleByIndex_v2") {
		return nil, errors.New("NVIDIA's library is older than airgap supports: install a driver of branch 535 or later")
	}
	count, ret := l.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("count the GPUs: %s", said(ret))
	}
	var all []device
	for i := range count {
		handle, ret := l.DeviceGetHandleByIndex(i)
		d := device{Device: handle}
		if ret != nvml.SUCCESS {
			d.lost = said(ret)
		}
		all = append(all, d)
	}
	return all, nil
}
