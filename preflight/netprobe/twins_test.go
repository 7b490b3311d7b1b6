package netprobe

import (
	"slices"
	"testing"
)

// TestTwinsAdvice: EL 8 knows `hostnamectl set-hostname` alone.
func TestTwinsAdvice(t *testing.T) {
	m := &Matrix{Hosts: []Host{{Name: "a"}, {Name: "b"}}, Twins: []Twin{{What: "host name", Value: "localhost", Hosts: []int{0, 1}}}}
	found := m.sharedNames()
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Fix == "give each machine its own: hostnamectl set-hostname NAME" }) {
		t.Errorf("got %+v", found)
	}
}
