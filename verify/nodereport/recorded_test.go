package nodereport

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// recorded is a host with files and one output of systemctl.
type recorded struct {
	files fstest.MapFS
	said  string
	asked string
}

func (r *recorded) FS() fs.FS { return r.files }

func (r *recorded) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	r.asked = strings.Join(append([]string{cmd.Name}, cmd.Args...), " ")
	return []byte(r.said), nil
}

func TestStatusText(t *testing.T) {
	for said, want := range map[string]string{
		"StatusText=airgap version 1.2.3\nActiveState=active\n": "airgap version 1.2.3",
		"StatusText=airgap version 1.2.3\nActiveState=failed\n": "",
		"StatusText=\nActiveState=inactive\n":                   "",
		"StatusText=\nActiveState=active\n":                     "",
	} {
		if got, err := StatusText(t.Context(), &recorded{said: said}, "x.service"); got != want || err != nil {
			t.Errorf("%q: got %q, %v", said, got, err)
		}
	}
}

func TestUnits(t *testing.T) {
	h := &recorded{said: "ActiveState=active\n\nActiveState=failed\n"}
	got, err := Units(t.Context(), h, []string{"kubelet.service", "containerd.service"})
	if want := []Unit{{Name: "kubelet.service", State: "active"}, {Name: "containerd.service", State: "failed"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if h.asked != "systemctl show --property=ActiveState kubelet.service containerd.service" {
		t.Errorf("ran %q", h.asked)
	}
	if _, err := Units(t.Context(), h, []string{"a", "b", "c"}); err == nil || !strings.Contains(err.Error(), "returned 2 of 3") {
		t.Errorf("an incomplete answer: %v", err)
	}
}

func TestClock(t *testing.T) {
	units := []Unit{{Name: "chronyd.service", State: "inactive"}, {Name: "ntpd.service", State: "active"}, {Name: "systemd-timesyncd.service", State: "active"}}
	tests := map[string]struct {
		kernel unix.Timex
		units  []Unit
		want   Clock
	}{
		"synchronized":   {unix.Timex{Status: unix.STA_PLL, Maxerror: 17_900}, units, Clock{true, 17, "ntpd.service"}},
		"unsynchronized": {unix.Timex{Status: unix.STA_UNSYNC, Maxerror: 16_000_000}, units[:1], Clock{false, 16000, ""}},
	}
	for name, test := range tests {
		if got := clockOf(test.kernel, test.units); *got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, *got, test.want)
		}
	}
	h := &recorded{said: "ActiveState=active\n\nActiveState=inactive\n\nActiveState=inactive\n"}
	if got, err := ReadClock(t.Context(), h); err != nil || got.Source != "chronyd.service" {
		t.Errorf("the clock of this machine: %+v, %v", got, err)
	}
}

func TestSystem(t *testing.T) {
	h := &recorded{files: fstest.MapFS{
		"proc/sys/kernel/random/boot_id": {Data: []byte("6a1f\n")},
		"proc/sys/kernel/osrelease":      {Data: []byte("5.14.0-570.el9.x86_64\n")},
	}}
	boot, errBoot := BootID(h)
	kernel, errKernel := Kernel(h)
	if errBoot != nil || errKernel != nil || boot != "6a1f" || kernel != "5.14.0-570.el9.x86_64" {
		t.Errorf("boot %q, %v; kernel %q, %v", boot, errBoot, kernel, errKernel)
	}
	if _, err := Kernel(&recorded{}); err == nil || !strings.Contains(err.Error(), "/proc/sys/kernel/osrelease") {
		t.Errorf("without the file: %v", err)
	}
}
