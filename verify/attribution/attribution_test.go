package attribution

import (
	"slices"
	"testing"

	"airgap.dev/airgap/verify/result"
)

// TestElsewhere: a finding stops the upgrade of w1 if it can be because of w1.
func TestElsewhere(t *testing.T) {
	w1 := Change{Hosts: []string{"w1"}, Ran: map[string][]string{"w1": {"Deployment shop/web", "DaemonSet ops/agent", "Job shop/night"}}}
	batch := Change{Hosts: []string{"w1", "w2"}, Ran: map[string][]string{"w1": {"Deployment shop/web"}, "w2": {"Deployment bank/core"}}}
	for name, tc := range map[string]struct {
		of    Change
		place *result.Place
		want  bool
	}{
		"a pod of another team on another host":       {w1, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7"}}, true},
		"its Deployment":                              {w1, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7", "w8"}}, true},
		"no workload of the site":                     {w1, nil, false},
		"a pod that is on the host now":               {w1, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w1"}}, false},
		"one of several pods is on the host now":      {w1, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7", "w1"}}, false},
		"an evicted pod on another host":              {w1, &result.Place{Owner: "Deployment shop/web", Nodes: []string{"w7"}}, false},
		"a pod that is not scheduled":                 {w1, &result.Place{Owner: "Deployment bank/core", Nodes: []string{""}}, false},
		"a Job that was evicted":                      {w1, &result.Place{Owner: "Job shop/night"}, false},
		"a Job that failed on another host":           {w1, &result.Place{Owner: "Job bank/report", Nodes: []string{"w7", "w8"}}, true},
		"a workload that a team has deleted":          {w1, &result.Place{Owner: "Deployment bank/core"}, true},
		"a deleted workload that ran on the host":     {w1, &result.Place{Owner: "Deployment shop/web"}, false},
		"a pod of a DaemonSet on another host":        {w1, &result.Place{Owner: "DaemonSet ops/agent", Nodes: []string{"w7"}}, true},
		"a pod of a DaemonSet on the host":            {w1, &result.Place{Owner: "DaemonSet ops/agent", Nodes: []string{"w7", "w1"}}, false},
		"a DaemonSet without one of its pods":         {w1, &result.Place{Owner: "DaemonSet ops/agent", Nodes: []string{"w7", ""}}, false},
		"a DaemonSet that does not exist":             {w1, &result.Place{Owner: "DaemonSet ops/agent"}, false},
		"a batch, elsewhere":                          {batch, &result.Place{Owner: "Deployment ops/log", Nodes: []string{"w7"}}, true},
		"a batch, evicted from its second host":       {batch, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7"}}, false},
		"a batch, on its second host":                 {batch, &result.Place{Owner: "Deployment ops/log", Nodes: []string{"w2"}}, false},
		"a host with unknown pods":                    {Change{Hosts: []string{"w1"}}, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7"}}, false},
		"a host without pods":                         {Change{Hosts: []string{"w1"}, Ran: map[string][]string{"w1": nil}}, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7"}}, true},
		"a pod without a name":                        {w1, &result.Place{Nodes: []string{"w7"}}, false},
		"the end of the upgrade: no host was changed": {Change{}, &result.Place{Owner: "Deployment bank/core", Nodes: []string{"w7"}}, false},
	} {
		if got := tc.of.Elsewhere(result.Finding{Place: tc.place}); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestOnHost(t *testing.T) {
	s := result.Snapshot{Containers: map[string]result.ContainerState{
		"Deployment shop/web, container web":   {Pods: map[string]result.PodState{"1": {Node: "w1"}, "2": {Node: "w7"}}},
		"Deployment shop/web, container proxy": {Pods: map[string]result.PodState{"1": {Node: "w1"}}},
		"Pod kube-system/etcd-cp1, container etcd": {Pods: map[string]result.PodState{
			"etcd-cp1": {Node: "cp1"},
		}},
	}}
	for host, want := range map[string][]string{"w1": {"Deployment shop/web"}, "cp1": {"Pod kube-system/etcd-cp1"}, "w2": nil} {
		if got := OnHost(s, host); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
}
