package nvml_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/gpu/nvml"
)

const kernelLog = `1763856000.123456 g1 kernel: nvidia 0000:4e:00.0: enabling device (0140 -> 0142)
1763856001.000001 g1 kernel: NVRM: Xid (PCI:0000:BD:00): 48, pid=4711, name=train, DBE (double bit error) ECC Error
1763856002.000001 g1 kernel: NVRM: Xid (PCI:0000:4e:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping
1763856003.000001 g1 kernel: NVRM: Xid (PCI:0000:4e:00): 31, pid=4711, name=train, Ch 00000008, MMU Fault
1763856004.000001 g1 kernel: NVRM: Xid (PCI:0000:4e:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping
1763856005.000001 g1 kernel: NVRM: Xid (PCI:10000:01:00): 79, GPU has fallen off the bus.
1763856006.000001 g1 kernel: NVRM: GPU 10000:01:00.0: GPU has fallen off the bus.
1763856007.000001 g1 sh[7]: NVRM: Xid (PCI:0000:01:00): 79, said by a program
`

// TestReadLog checks that events are grouped by GPU, that events of programs are skipped, and that other
// lines are ignored.
func TestReadLog(t *testing.T) {
	says := func(text string, err error) recorded {
		return recorded{"journalctl": func() ([]byte, error) { return []byte(text), err }}
	}
	found, err := nvml.ReadLog(t.Context(), says(kernelLog, nil), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range found {
		got = append(got, l.String())
	}
	want := []string{
		"0000:4e:00.0: Xid 63 at 2025-11-23T00:00:04Z, the last of 2",
		"0000:bd:00.0: Xid 48 at 2025-11-23T00:00:01Z",
		"10000:01:00.0: Xid 79 at 2025-11-23T00:00:05Z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if found, err := nvml.ReadLog(t.Context(), says("", nil), time.Hour); err != nil || found != nil {
		t.Errorf("log without events: %v, %v", found, err)
	}
	if _, err := nvml.ReadLog(t.Context(), says("", errors.New("no journal")), time.Hour); err == nil || !strings.Contains(err.Error(), "read the kernel's log: no journal") {
		t.Errorf("no log: %v", err)
	}
}
