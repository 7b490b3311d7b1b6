package nvml_test

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
)

// TestLinks checks which of several GPUs of one name have a fault. Each word is a GPU, each digit a link:
// 1 is active; m is MIG mode.
func TestLinks(t *testing.T) {
	for links, faulty := range map[string][]int{
		"1111":                nil,
		"0000 0000":           nil, // no bridge
		"1100 1100":           nil, // a small bridge, or half of a large one: unknown
		"1111 1111 0000 0000": nil, // two of four have a bridge
		"1100 0011":           nil, // a bridge on other links
		"1111 1110":           {1},
		"1111 1111 1111 0000": {3},
		"1111 1110 0000":      {1, 2},
		"1111 m0000":          nil, // MIG mode
		"m1111 0000":          nil,
		"1111 other0":         nil,
		"1111 ":               nil, // no information
	} {
		var r nvml.Report
		for i, of := range strings.Split(links, " ") {
			c := nvml.GPU{Index: i, Name: strings.TrimRight(of, "m01")}
			if strings.HasPrefix(of, "m") {
				c.Name, c.MIG = "", &nvml.MIG{Mode: nvml.Mode{Current: true, Pending: true}}
			}
			for _, state := range strings.TrimLeft(of, "mother") {
				c.NVLinks = append(c.NVLinks, state == '1')
			}
			r.GPUs = append(r.GPUs, c)
		}
		var found []int
		for _, c := range r.GPUs {
			if slices.ContainsFunc(r.Faults(), func(f string) bool { return strings.HasPrefix(f, c.String()+":") }) {
				found = append(found, c.Index)
			}
		}
		if !slices.Equal(found, faulty) {
			t.Errorf("%q gives faults of %v, want %v: %q", links, found, faulty, r.Faults())
		}
	}
}

// TestXids checks that events of an unknown GPU are reported too.
func TestXids(t *testing.T) {
	r := nvml.Report{Xids: []nvml.Xid{{Card: -1, Number: 79}, {Card: 2, Number: 48}, {Card: 2, Number: 43}}}
	if found := r.Faults(); !slices.Equal(found, []string{"an unknown GPU: Xid 79", "GPU 2: Xid 48"}) {
		t.Errorf("%q", found)
	}
}
