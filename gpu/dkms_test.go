package gpu

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/ui"
)

// TestBuild checks that DKMS builds the missing modules before the driver loads.
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
		t.Errorf("failure of another module: %v", err)
	}
}

// TestBuildFails checks that a failure for the running or the next kernel is an error with the
// compiler's output, and for any other kernel a warning. A driver of the site is not built.
func TestBuildFails(t *testing.T) {
	const older = "5.14.0-0.el9.x86_64"
	for _, test := range []struct {
		name, kernel, next string
		driver             Choice
		ends, warns, built bool
	}{
		{"the running kernel", runs, runs, Choice{580, Open}, true, false, true},
		{"the next one", next, next, Choice{580, Open}, true, false, true},
		{"a kernel that does not boot next", older, next, Choice{580, Open}, false, true, true},
		{"unknown next kernel", next, "", Choice{580, Open}, false, true, true},
		{"a driver of the site's", older, next, Choice{}, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s := withDriver(t)
			progress := &progressLog{Progress: ui.Discard()}
			s.Driver, s.Next, s.Progress = test.driver, test.next, progress
			if test.kernel == runs {
				m.put(t, "lib/modules/"+runs+"/modules.dep", "")
			}
			m.put(t, "lib/modules/"+test.kernel+"/build/Makefile", "")
			m.put(t, "usr/sbin/dkms", "")
			m.put(t, "var/lib/dkms/nvidia/580.82.07/build/make.log", "cc: error: no space left on device\n")
			m.fails("dkms autoinstall -k "+test.kernel, "Error! Bad return status for module build")
			err := DriverStep(s).Run(t.Context())
			said := strings.Join(progress.said, "\n")
			if test.ends {
				f, is := errors.AsType[*Failure](err)
				if !is || f.Hint() == "" {
					t.Fatalf("got %v", err)
				}
				said = err.Error()
			}
			if (err != nil) != test.ends || (len(progress.said) > 0) != test.warns || len(m.ran("dkms")) > 0 != test.built || (len(m.ran("modprobe")) > 0) == test.ends {
				t.Errorf("%v; said %q, ran %q", err, progress.said, m.calls)
			}
			if test.built && (!strings.Contains(said, "build NVIDIA's kernel module for "+test.kernel) || !strings.Contains(said, "no space left on device")) {
				t.Errorf("said %q", said)
			}
			if test.warns && !strings.HasPrefix(said, "warning: ") {
				t.Errorf("said %q", said)
			}
		})
	}
}

// progressLog is a progress that records the messages.
type progressLog struct {
	ui.Progress
	said []string
}

func (s *progressLog) Say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}
