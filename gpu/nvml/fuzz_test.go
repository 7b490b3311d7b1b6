package nvml_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
)

// FuzzSMI checks that any output of nvidia-smi, which changes with every driver, is an error or a Report
// that survives a round trip through JSON.
func FuzzSMI(f *testing.F) {
	outputs, err := filepath.Glob("testdata/smi/*.xml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range outputs {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(oneCard))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := nvml.ReadSMI(bytes.NewReader(text))
		if err == nil {
			survives(t, found)
		}
	})
}

// FuzzRead checks any output of the helper.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"driver": "1", "cards": [{"index": 3, "nvlinks": [true, false], "mig": {"current": true, "pending": false, "instances": [{}]}}, {"index": -1}], "xids": [{"card": 9, "xid": 79}]}`))
	f.Add([]byte(`{"driver": "1", "cards": null, "xids": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := nvml.Read(bytes.NewReader(text))
		if err == nil {
			survives(t, found)
		}
	})
}

func survives(t *testing.T, found *nvml.Report) {
	t.Helper()
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	again, err := nvml.Read(bytes.NewReader(text))
	if err != nil || !reflect.DeepEqual(again.Faults(), found.Faults()) {
		t.Fatalf("%s: parsed again as %+v, %v", text, again, err)
	}
	if twice, err := json.Marshal(again); err != nil || !bytes.Equal(twice, text) {
		t.Errorf("%s: encoded again as %s, %v", text, twice, err)
	}
}
