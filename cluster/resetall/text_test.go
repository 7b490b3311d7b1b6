package resetall

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/reset"
)

func written(t *testing.T, r interface{ Write(io.Writer) error }) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	assert.LessOrEqual(t, strings.Count(b.String(), "\n"), 22, "the text fits on a terminal")
	return b.String()
}

// TestPlan: the confirmation has the cluster, the number of hosts and the order, and names the hosts without a connection.
func TestPlan(t *testing.T) {
	p := Plan{Cluster: "bank", ControlPlane: []string{"node002", "node003"}, Last: "node001"}
	for i := 4; i <= 100; i++ {
		name := fmt.Sprintf("node%03d", i)
		if i == 44 || i == 45 {
			p.Unreached = append(p.Unreached, Unreached{name, fmt.Sprintf("10.0.0.%d", i), fmt.Sprintf("log in on %s: dial tcp 10.0.0.%d:22: i/o timeout", name, i)})
			continue
		}
		p.Workers = append(p.Workers, name)
	}
	assert.Equal(t, "bank 100", p.Answer())
	assert.Equal(t, `airgap reset --all-hosts ends the cluster bank. It deletes all pods, and undoes the changes of airgap in this order:
  workers: node[004-043,046-100] (95 hosts)
  control plane, one after the other: node[002-003] (2 hosts)
  this host, if all others are reset: node001
There is no connection to 2 hosts:
  node[044-045] (2 hosts): log in on HOST: dial tcp HOST:22: i/o timeout
It keeps bundles, pushed images, backups, etcd data, images and logs (--wipe-data deletes them).
`, written(t, p))
	p.Wipe, p.Absent = true, []string{"node101", "node102"}
	assert.Contains(t, written(t, p), "It does not reset node[101-102] (2 hosts), absent by airgap.yaml.\n")
	assert.Contains(t, written(t, p), "It also DELETES bundles")
	rest := Plan{Last: "this host"}
	assert.Equal(t, "yes", rest.Answer())
	assert.Contains(t, written(t, rest), "continues on this host")
}

// TestResult: 100 hosts have a line for each kind of result, and the failed ones are in the error.
func TestResult(t *testing.T) {
	r := Result{Left: "node001"}
	for i := 2; i <= 100; i++ {
		h := fleet.HostReset{Host: fmt.Sprintf("node%03d", i), Undone: 33, Kept: []string{"/var/lib/containerd", "/var/log/pods"}}
		switch i {
		case 60:
			h.Undone, h.Kept = 0, nil
		case 71:
			h = fleet.HostReset{Host: h.Host, Error: "no answer"}
		}
		r.Hosts = append(r.Hosts, h)
	}
	assert.Equal(t, `  node[002-059,061-070,072-100] (97 hosts): undone: 33 steps; kept: /var/lib/containerd, /var/log/pods
  node060: nothing to undo
98 of 100 hosts are reset
node001 is not reset
`, written(t, r))
}

// TestForecast: each host has its plan in JSON, and equal hosts are together in the text.
func TestForecast(t *testing.T) {
	var one reset.Plan
	require.NoError(t, json.Unmarshal([]byte(`{"steps": [{"step": "kubeadm", "title": "Leave"}, {"step": "sysctls", "title": "Restore"}], "keep": ["/var/log/pods"]}`), &one))
	f := Forecast{Cluster: "bank"}
	for i := 1; i <= 100; i++ {
		h := HostPlan{Host: fmt.Sprintf("node%03d", i), Plan: &one}
		switch i {
		case 5:
			h.Plan = &reset.Plan{}
		case 6:
			h = HostPlan{Host: h.Host, Error: "airgap: not found"}
		}
		f.Hosts = append(f.Hosts, h)
	}
	assert.Equal(t, `airgap reset --all-hosts would change, on 100 hosts:
  node[001-004,007-100] (98 hosts): 2 steps to undo: kubeadm, sysctls
    keep: /var/log/pods
  node005: nothing to undo
  node006: not known: airgap: not found
nothing was changed
`, written(t, f))
	text, err := json.Marshal(f)
	require.NoError(t, err)
	assert.Equal(t, 100, strings.Count(string(text), `"host":`))
}
