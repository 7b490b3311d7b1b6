package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/preflight"
)

// TestSurveyedCards: the facts have what the library says of cards, but for serial
// numbers, and miss nothing where it says nothing.
func TestSurveyedCards(t *testing.T) {
	loaded := fstest.MapFS{"proc/driver/nvidia/version": {Data: []byte(open580)}}
	const says = `{"driver": "580.82.07", "cuda": "13.0", "cards": [
		{"index": 0, "address": "0000:17:00.0", "name": "NVIDIA H100", "uuid": "GPU-1", "serial": "1650522000001", "memory": 85520809984}, {"index": 1, "lost": "GPU is lost"}]}`
	cards := []preflight.NVMLCard{{Address: "0000:17:00.0", Name: "NVIDIA H100", UUID: "GPU-1", Memory: 85520809984}, {}}
	for name, test := range map[string]struct {
		host cardHost
		want *preflight.NVML
	}{
		"no driver":       {cardHost{cardFiles(h100("0000:17:00.0")), says, ""}, nil},
		"no answer":       {cardHost{cardFiles(h100("0000:17:00.0"), loaded), "", ""}, nil},
		"two, a lost one": {cardHost{cardFiles(h100("0000:17:00.0"), loaded), says, ""}, &preflight.NVML{Driver: "580.82.07", CUDA: "13.0", Cards: cards}},
	} {
		facts, err := surveyed(t.Context(), test.host)
		if err != nil || !reflect.DeepEqual(facts.NVML, test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, facts.NVML, err, test.want)
			continue
		}
		for _, u := range facts.Unknown {
			if u.Fact == "nvml" {
				t.Errorf("%s: unknown: %s", name, u.Reason)
			}
		}
		var file bytes.Buffer
		if err := facts.Write(&file); err != nil {
			t.Fatal(err)
		}
		read, err := preflight.ReadFacts(&file)
		if err != nil || !reflect.DeepEqual(read.NVML, test.want) || strings.Contains(file.String(), "1650522") {
			t.Errorf("%s: read back %+v, %v", name, read, err)
		}
	}
}
