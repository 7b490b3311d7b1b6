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

// TestDuplicateFirmware: the same UUID in the firmware is a warning, and clones with the same host
// name in other letters are found.
func TestDuplicateFirmware(t *testing.T) {
	report := func(name string) *Report { return &Report{Identity: Identity{Hostname: name, ProductUUID: "x"}} }
	m := &Matrix{Hosts: []Host{{Name: "a"}, {Name: "b"}}, Duplicates: duplicates([]*Report{report("a"), report("A")})}
	found := m.sharedIdentities()
	if len(found) != 2 || found[0].Severity != Stops || found[1].Severity != Warns {
		t.Errorf("got %+v", found)
	}
}
