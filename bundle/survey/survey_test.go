package survey

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/preflight/facts"
)

// TestSaveFactsMakesItsDirectory: save creates facts/ on a USB drive, but not the mount
// point of a drive that is not mounted.
func TestSaveFactsMakesItsDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := save(&facts.Facts{}, filepath.Join(dir, "facts", "cp1.facts.yaml")); err != nil {
		t.Error(err)
	}
	if err := save(&facts.Facts{}, filepath.Join(dir, "stick", "facts", "cp1.facts.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a USB drive: %v", err)
	}
}

// fullCard sets each field of a GPU.
const fullCard = `{"index": 0, "address": "0000:17:00.0", "name": "NVIDIA H100", "uuid": "GPU-1", "serial": "1650522000001",
	"ecc": {"current": true, "pending": false, "volatile": {"corrected": 12, "uncorrected": 0}, "aggregate": {"corrected": 40, "uncorrected": 3}},
	"rows": {"corrected": 1, "uncorrected": 2, "pending": true, "failed": false},
	"mig": {"current": true, "pending": true, "instances": [{"uuid": "MIG-1", "name": "NVIDIA H100 MIG 1g.10gb", "gpu": 7, "compute": 0}]},
	"nvlinks": [true, false], "fabric": {"state": "completed", "error": "Unknown Error"},
	"temperature": 31, "slowdownTemperature": 87, "shutdownTemperature": 92, "powerDraw": 88400, "powerLimit": 700000, "memory": 85520809984}`

// TestSurveyedCards: the facts contain all data from NVML about the GPUs except serial
// numbers, the errors of the driver, and a mismatch between the versions of library and
// driver.
func TestSurveyedCards(t *testing.T) {
	loaded := fstest.MapFS{"proc/driver/nvidia/version": {Data: []byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root@host)\n")}}
	const says = `{"driver": "580.82.07", "cuda": "13.0", "cards": [` + fullCard + `, {"index": 1, "lost": "GPU is lost"}]}`
	const fellOff = "1763856005.000001 g1 kernel: NVRM: Xid (PCI:0000:3d:00): 79, GPU has fallen off the bus.\n"
	said, err := nvml.Read(strings.NewReader(strings.ReplaceAll(says, `"serial": "1650522000001",`, "")))
	if err != nil {
		t.Fatal(err)
	}
	for i, fields := 0, reflect.ValueOf(said.GPUs[0]); i < fields.NumField(); i++ {
		if name := fields.Type().Field(i).Name; fields.Field(i).IsZero() && !slices.Contains([]string{"Index", "Serial", "Lost"}, name) {
			t.Errorf("fullCard does not set %s", name)
		}
	}
	xids := []nvml.Logged{{Address: "0000:3d:00.0", Number: 79, Times: 1, Last: time.Unix(1763856005, 0).UTC()}}
	here := sitetest.CardFiles(sitetest.H100("0000:17:00.0"), loaded)
	for name, test := range map[string]struct {
		host    sitetest.CardHost
		want    *nvml.Report
		xids    []nvml.Logged
		unknown string
	}{
		"no driver":                  {sitetest.CardHost{MapFS: sitetest.CardFiles(sitetest.H100("0000:17:00.0")), Says: says, Log: fellOff}, nil, nil, ""},
		"library of another version": {sitetest.CardHost{MapFS: here, Log: fellOff}, nil, xids, "ask NVML: " + nvml.ErrMismatch.Error()},
		"two GPUs, one lost":         {sitetest.CardHost{MapFS: here, Says: says, Log: fellOff}, said, xids, ""},
		"unreadable log":             {sitetest.CardHost{MapFS: here, Says: says, Log: sitetest.Unreadable}, said, nil, "read the kernel's log: no journal"},
	} {
		got, err := facts.Survey(t.Context(), test.host)
		if err != nil || !reflect.DeepEqual(got.NVML, test.want) || !reflect.DeepEqual(got.Xids, test.xids) {
			t.Errorf("%s: got %+v, %+v, %v, want %+v", name, got.NVML, got.Xids, err, test.want)
			continue
		}
		var unknown string
		for _, u := range got.Unknown {
			if u.Fact == "nvml" || u.Fact == "nvidiaXids" {
				unknown += u.Reason
			}
		}
		if unknown != test.unknown {
			t.Errorf("%s: unknown %q, want %q", name, unknown, test.unknown)
		}
		var file bytes.Buffer
		if err := got.Write(&file); err != nil {
			t.Fatal(err)
		}
		read, err := facts.ReadFacts(&file)
		if err != nil || !reflect.DeepEqual(read.NVML, test.want) || !reflect.DeepEqual(read.Xids, test.xids) || strings.Contains(file.String(), "1650522") {
			t.Errorf("%s: read back %+v, %v", name, read, err)
		}
	}
}
