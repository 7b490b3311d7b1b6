package netprobe

import (
	"slices"
	"testing"
)

// TestDuplicatesFix: EL 8 has `hostnamectl set-hostname`, but not `hostnamectl hostname`.
func TestDuplicatesFix(t *testing.T) {
	m := &Matrix{Hosts: []Host{{Name: "a"}, {Name: "b"}}, Duplicates: []Duplicate{{What: "host name", Value: "localhost", Hosts: []int{0, 1}}}}
	found := m.sharedIdentities()
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Fix == "make it unique on each machine: hostnamectl set-hostname NAME" }) {
		t.Errorf("got %+v", found)
	}
}
