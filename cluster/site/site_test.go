package site

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/registry"
)

// TestRegistries: a host asks its own registry first, if it has one. Hosts without a registry start with
// different ones.
func TestRegistries(t *testing.T) {
	master, worker := []config.Role{config.ControlPlane}, []config.Role{config.Worker}
	c := &config.Cluster{Registry: registry.Config{Port: 5000}, Nodes: []config.Node{
		{Name: "cp1", Address: "10.0.0.1", Roles: master}, {Name: "w1", Address: "10.0.0.4", Roles: worker},
		{Name: "cp2", Address: "10.0.0.2", Roles: master}, {Name: "w2", Address: "10.0.0.5", Roles: worker},
		{Name: "cp3", Address: "10.0.0.3", Roles: master}, {Name: "w3", Address: "10.0.0.6", Roles: worker},
	}}
	firsts := map[string]int{}
	for _, n := range c.Nodes {
		all := (&Site{Config: c, Node: n}).Registries()
		if n.Has(config.ControlPlane) && all[0] != n.Address+":5000" {
			t.Errorf("%s asks %s first, not itself", n.Name, all[0])
		}
		if n.Has(config.Worker) {
			firsts[all[0]]++
		}
		if sorted := slices.Sorted(slices.Values(all)); strings.Join(sorted, " ") != "10.0.0.1:5000 10.0.0.2:5000 10.0.0.3:5000" {
			t.Errorf("%s asks %v", n.Name, all)
		}
	}
	c.Nodes[2].Absent = &config.Absent{Reason: "mainboard"}
	for _, n := range c.Nodes {
		all := strings.Join((&Site{Config: c, Node: n}).Registries(), " ")
		if strings.Contains(all, c.Nodes[2].Address) != (n.Name == "cp2") {
			t.Errorf("%s asks the registry of an absent host: %s", n.Name, all)
		}
	}
	if len(firsts) < 2 {
		t.Errorf("all workers ask the same one first: %v", firsts)
	}
}

// TestKeeping: the kept nodes and this host stay, without a record of removed nodes.
func TestKeeping(t *testing.T) {
	c := &config.Cluster{Nodes: []config.Node{{Name: "cp1"}, {Name: "w1"}, {Name: "w2"}}}
	s := &Site{Config: c, Nodes: c.Nodes, Node: c.Nodes[0]}
	kept := s.Keeping([]string{"w2", "w9"})
	if len(kept.Config.Nodes) != 2 || kept.Config.Nodes[1].Name != "w2" || len(kept.Removed) > 0 {
		t.Errorf("got %+v, removed %v", kept.Config.Nodes, kept.Removed)
	}
	if len(s.Config.Nodes) != 3 {
		t.Errorf("the site changed: %+v", s.Config.Nodes)
	}
}
