package nvml_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/gpu/nvml/nvmltest"
	"airgap.dev/airgap/internal/host"
)

// TestRealCards compares the helper's report on a machine with GPUs with the output of nvidia-smi. It is
// skipped on other machines. AIRGAP_NVML is the path of a built helper, for a machine without Go and
// gcc. docs/untested.md describes how to run it.
func TestRealCards(t *testing.T) {
	if _, err := os.Stat("/proc/driver/nvidia/version"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("NVIDIA's driver is not loaded here")
	}
	if _, err := exec.LookPath("nvidia-smi"); err != nil {
		t.Skip("nvidia-smi is missing: ", err)
	}
	helper := os.Getenv("AIRGAP_NVML")
	if helper == "" {
		helper = nvmltest.BuildHelper(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // eight GPUs without the persistence daemon
	defer cancel()
	m := nvmltest.Machine{Built: nvmltest.Built{Helper: helper}, Library: os.Getenv("LD_LIBRARY_PATH")}
	asked, err := m.Run(ctx, host.Cmd{Name: nvml.Helper})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := nvml.Read(bytes.NewReader(asked))
	if err != nil {
		t.Fatalf("%v: %s", err, asked)
	}
	said, err := host.Local{}.Run(ctx, host.Cmd{Name: "nvidia-smi", Args: []string{"-q", "-x"}})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := nvml.ReadSMI(bytes.NewReader(said))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences(ours, theirs) {
		t.Error(d)
	}
	for name, r := range map[string]*nvml.Report{"airgap-nvml": ours, "nvidia-smi": theirs} {
		figures, err := json.MarshalIndent(r, "", "  ")
		t.Logf("%s: %s %v; faults: %q", name, figures, err, r.Faults())
	}
}

// differences returns the differences between the reports of the library and of nvidia-smi.
func differences(ours, theirs *nvml.Report) []string {
	var all []string
	compare := func(what string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			a, _ := json.Marshal(a) // cannot fail: it was decoded from JSON
			b, _ := json.Marshal(b)
			all = append(all, fmt.Sprintf("%s: library %s, nvidia-smi %s", what, a, b))
		}
	}
	compare("driver", ours.Driver, theirs.Driver)
	compare("CUDA", ours.CUDA, theirs.CUDA)
	compare("number of GPUs", len(ours.GPUs), len(theirs.GPUs))
	for i := range min(len(ours.GPUs), len(theirs.GPUs)) {
		a, b := ours.GPUs[i], theirs.GPUs[i]
		of := func(what string) string { return fmt.Sprintf("card %d: %s", i, what) }
		compare(of("does not answer"), a.Lost, "")
		compare(of("UUID"), a.UUID, b.UUID)
		compare(of("PCI address"), a.Address, b.Address)
		compare(of("name"), a.Name, b.Name)
		compare(of("serial number"), a.Serial, b.Serial)
		compare(of("memory"), a.Memory, b.Memory)
		compare(of("ECC"), a.ECC, b.ECC)
		compare(of("replaced rows"), a.Rows, b.Rows)
		compare(of("MIG mode"), mode(a.MIG), mode(b.MIG)) // nvidia-smi has no names of instances
		compare(of("fabric"), a.Fabric, b.Fabric)
		compare(of("power limit"), a.PowerLimit, b.PowerLimit)
		for _, c := range []struct {
			what         string
			ours, theirs *int
		}{
			{"temperature", a.Temperature, b.Temperature}, {"slowdown temperature", a.SlowdownTemperature, b.SlowdownTemperature},
			{"shutdown temperature", a.ShutdownTemperature, b.ShutdownTemperature},
		} {
			if !near(c.ours, c.theirs) {
				compare(of(c.what), c.ours, c.theirs)
			}
		}
	}
	return all
}

// mode returns nil for a GPU without MIG.
func mode(m *nvml.MIG) *nvml.Mode {
	if m == nil {
		return nil
	}
	return &m.Mode
}

// near allows a difference, because the temperature changes between two reads. From Ada on limits are
// margins to the current temperature.
func near(a, b *int) bool {
	const tolerated = 5 // °C
	if a == nil || b == nil {
		return a == b
	}
	return max(*a-*b, *b-*a) <= tolerated
}
