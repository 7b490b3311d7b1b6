package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestBuild: DKMS makes what is missing, before the driver is loaded, and the
// compiler is quoted where it fails.
func TestBuild(t *testing.T) {
	m, s := withDriver(t)
	for _, kernel := range []string{runs, next} {
		m.put(t, "lib/modules/"+kernel+"/build/Makefile", "")
	}
	m.put(t, "usr/sbin/dkms", "")
	m.put(t, "var/lib/dkms/nvidia/580.82.07/source/dkms.conf", "")
	m.does("dkms autoinstall -k "+next, func() { m.put(t, "lib/modules/"+next+"/modules.dep", nvidiaDep) })
	if err := DriverStep(s).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := m.ran("dkms"); !slices.Equal(got, []string{"dkms autoinstall -k " + next}) {
		t.Errorf("ran %q", got)
	}

	m, s = withDriver(t)
	m.put(t, "lib/modules/"+next+"/build/Makefile", "")
	m.put(t, "usr/sbin/dkms", "")
	m.put(t, "var/lib/dkms/nvidia/580.82.07/source/dkms.conf", "")
	m.fails("dkms autoinstall -k "+next, "Error! Bad return status for module build: zfs")
	fails := m.answers["dkms autoinstall -k "+next]
	m.answers["dkms autoinstall -k "+next] = func() (string, error) {
		m.put(t, "lib/modules/"+next+"/modules.dep", nvidiaDep)
		return fails()
	}
	if err := DriverStep(s).Run(t.Context()); err != nil {
		t.Errorf("another program's module that fails: %v", err)
	}

	m, s = withDriver(t)
	m.put(t, "lib/modules/"+next+"/build/Makefile", "")
	m.put(t, "usr/sbin/dkms", "")
	m.put(t, "var/lib/dkms/nvidia/580.82.07/build/make.log", "cc: error: no space left on device\n")
	m.fails("dkms autoinstall -k "+next, "Error! Bad return status for module build")
	err := DriverStep(s).Run(t.Context())
	if f, is := errors.AsType[*Failure](err); !is || !strings.Contains(err.Error(), "build NVIDIA's kernel module for "+next) || !strings.Contains(err.Error(), "no space left on device") || f.Hint() == "" {
		t.Errorf("got %v", err)
	}
	if len(m.ran("modprobe")) > 0 {
		t.Errorf("ran %q", m.ran("modprobe"))
	}
}
