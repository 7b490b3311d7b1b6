package gpu

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/ui"
)

// TestBuild: DKMS makes what is missing, before the driver is loaded.
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
}

// TestBuildFails: for a kernel that runs or comes next that is the end, with the compiler's
// own words; for any other one it is told, and the driver is loaded. What the site has
// brought is not built at all.
func TestBuildFails(t *testing.T) {
	const older = "5.14.0-0.el9.x86_64"
	for _, test := range []struct {
		name, kernel, next string
		driver             Choice
		ends, warns, built bool
	}{
		{"the running kernel", runs, runs, Choice{580, Open}, true, false, true},
		{"the next one", next, next, Choice{580, Open}, true, false, true},
		{"one that nobody boots", older, next, Choice{580, Open}, false, true, true},
		{"nobody knows the next one", next, "", Choice{580, Open}, false, true, true},
		{"a driver of the site's", older, next, Choice{}, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s := withDriver(t)
			progress := &sayings{Progress: ui.Discard()}
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

// sayings is a progress that keeps what is said.
type sayings struct {
	ui.Progress
	said []string
}

func (s *sayings) Say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}
