package nvml_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

var update = flag.Bool("update", false, "update the golden files")

// golden compares the report and its faults with a file.
func golden(t *testing.T, path string, found *nvml.Report) {
	t.Helper()
	got, err := json.MarshalIndent(struct {
		Faults []string     `json:"faults"`
		Report *nvml.Report `json:"report"`
	}{found.Faults(), found}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs, got\n%s", path, got)
	}
}

// recorded is a fake machine with recorded outputs of its programs.
type recorded map[string]func() ([]byte, error)

func (r recorded) FS() fs.FS { return nil }

func (r recorded) Run(_ context.Context, cmd host.Cmd) ([]byte, error) { return r[cmd.Name]() }
