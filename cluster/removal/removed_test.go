package removal

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
)

// fiveNodes returns a site with three control-plane hosts and two workers. this is the name of this host.
func fiveNodes(this string) *site.Site {
	c := &config.Cluster{}
	for i, role := range []config.Role{config.ControlPlane, config.ControlPlane, config.ControlPlane, config.Worker, config.Worker} {
		n := string(rune('1' + i))
		c.Nodes = append(c.Nodes, config.Node{Name: "node" + n, Address: "10.0.0.1" + n, Roles: []config.Role{role}})
	}
	c.Registry.Port = 5000
	s := &site.Site{Config: c, Nodes: c.Nodes}
	s.Node, _ = c.Node(this)
	return s
}

func TestWithoutRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		this       string
		removed    []string
		nodes      string // that stay
		registries []string
	}{
		"no node":          {"node1", nil, "12345", []string{"10.0.0.11:5000", "10.0.0.12:5000", "10.0.0.13:5000"}},
		"a worker":         {"node4", []string{"node5"}, "1234", []string{"10.0.0.11:5000", "10.0.0.12:5000", "10.0.0.13:5000"}},
		"the first host":   {"node3", []string{"node1"}, "2345", []string{"10.0.0.13:5000", "10.0.0.12:5000"}},
		"this host itself": {"node2", []string{"node2", "node3"}, "1245", []string{"10.0.0.12:5000", "10.0.0.11:5000"}},
		"a former node":    {"node1", []string{"node9"}, "12345", []string{"10.0.0.11:5000", "10.0.0.12:5000", "10.0.0.13:5000"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fiveNodes(tc.this)
			s = s.Without([]string{"node4", "node5"}).Without(tc.removed) // the last call counts
			left := ""
			for _, n := range s.Config.Nodes {
				left += strings.TrimPrefix(n.Name, "node")
			}
			at := s.Registries()
			if tc.this == "node4" {
				slices.Sort(at)
			}
			if left != tc.nodes || !slices.Equal(at, tc.registries) {
				t.Errorf("left %s, registries %v; want %s, %v", left, at, tc.nodes, tc.registries)
			}
			if _, err := s.Listed("node5"); err != nil {
				t.Errorf("airgap.yaml lists it: %v", err)
			}
		})
	}
}

// TestRemovedFile: another host can read the list that a host writes, also an empty list.
func TestRemovedFile(t *testing.T) {
	for _, removed := range [][]string{nil, {"node4", "node5"}} {
		s := fiveNodes("node1")
		s = s.Without(removed)
		text := join.KeptIndex(s, &join.Server{Signed: map[string][]byte{"bundle.json": nil}})[site.RemovedName]
		got, err := site.ParseRemoved(text)
		if err != nil || !slices.Equal(got, removed) || !json.Valid(text) || string(text) == "null" {
			t.Errorf("%v became %s, %v, %v", removed, text, got, err)
		}
	}
	if _, err := site.ParseRemoved([]byte("{}")); err == nil {
		t.Error("an object is read as a list")
	}
}

func TestResultText(t *testing.T) {
	var b strings.Builder
	r := Result{NodeResult: &NodeResult{Node: "node5"}, Next: []string{"on node5: airgap reset"}}
	if err := r.Write(&b); err != nil || b.String() != "node5: removed\n  run on node5: airgap reset\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
	b.Reset()
	var none *join.Again
	if err := none.Write(&b); err != nil || b.Len() > 0 {
		t.Errorf("without joined hosts: %q, %v", b.String(), err)
	}
	err := (&join.Again{Nodes: []string{"node2", "node3"}, Line: "airgap join X"}).Write(&b)
	if err != nil || !strings.Contains(b.String(), "Run this again on node[2-3]") || !strings.Contains(b.String(), "\n  airgap join X\n") {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
