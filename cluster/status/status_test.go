package status

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/nodereport"
)

var update = flag.Bool("update", false, "write the golden files")

func at(minute int, name, event string) step.Entry {
	return step.Entry{Time: time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC), Step: name, Event: event}
}

// TestStatusJudges combines journals with the current state of the steps.
func TestStatusJudges(t *testing.T) {
	holds := func(name string, yes bool, changes ...string) step.Forecast {
		return step.Forecast{Step: step.Step{Name: name, Title: "Title of " + name}, UpToDate: yes, Changes: changes}
	}
	silent := holds("network", false)
	silent.Incomplete = errors.New("the API server is silent")
	ended := []step.Entry{at(1, "store", step.Began), at(2, "store", step.Ended), at(3, "sysctls", step.Began), at(4, "sysctls", step.Ended)}
	for name, tc := range map[string]struct {
		entries []step.Entry
		now     []step.Forecast
		busy    bool
		states  []string
		drifted []string
		says    string
	}{
		"a bare host": {says: "nothing was installed on this host"},
		"all is well": {ended, []step.Forecast{holds("store", true), holds("sysctls", true)}, false, []string{stepOK, stepOK}, nil, "all 2 steps are up to date"},
		"a parameter drifts": {ended, []step.Forecast{holds("store", true), holds("sysctls", false, "net.ipv4.ip_forward 0 → 1")}, false,
			[]string{stepOK, stepDrifted}, []string{"sysctls"}, "drifted: sysctls; run the same command again"},
		"killed": {ended[:3], []step.Forecast{holds("store", true), holds("sysctls", false), holds("network", false)}, false,
			[]string{stepOK, stepInterrupted, stepPending}, nil, "interrupted in step sysctls"},
		"killed after the last step": {ended[:3], []step.Forecast{holds("store", true), holds("sysctls", true)}, false, []string{stepOK, stepOK}, nil, "all 2 steps are up to date"},
		"at work":                    {ended[:3], []step.Forecast{holds("store", true), holds("sysctls", false)}, true, []string{stepOK, stepInterrupted}, nil, "right now"},
		"failed": {append(slices.Clone(ended[:3]), step.Entry{Step: "sysctls", Event: step.Broke, Error: "read-only file system\nand more"}),
			[]step.Forecast{holds("store", true), holds("sysctls", false)}, false, []string{stepOK, stepFailed}, nil, "read-only file system"},
		"cannot be told": {append(slices.Clone(ended), at(5, "network", step.Ended)), []step.Forecast{holds("store", true), holds("sysctls", true), silent}, false,
			[]string{stepOK, stepOK, stepUnknown}, nil, "the API server is silent"},
		"the bundle is gone": {ended[:3], nil, false, []string{stepUnknown, stepInterrupted}, nil, "interrupted in step sysctls"},
		"a reset was killed": {append(slices.Clone(ended), at(5, "sysctls", step.Undone)), []step.Forecast{holds("store", true), holds("sysctls", false)}, false,
			[]string{stepOK, stepUndone}, nil, "partly undone"},
	} {
		t.Run(name, func(t *testing.T) {
			st := &Status{Busy: tc.busy}
			st.judge(tc.entries, tc.now)
			var states []string
			for _, s := range st.Steps {
				states = append(states, s.State)
			}
			if !slices.Equal(states, tc.states) || !slices.Equal(st.Drifted, tc.drifted) {
				t.Errorf("states %q, drifted %q; want %q, %q", states, st.Drifted, tc.states, tc.drifted)
			}
			var text bytes.Buffer
			if err := st.Write(&text); err != nil || !strings.Contains(text.String(), tc.says) {
				t.Errorf("the output does not contain %q (%v):\n%s", tc.says, err, &text)
			}
		})
	}
}

// TestStatusFitsOnAScreen: the changes of a step are shortened in the text, never
// in the result for programs.
func TestStatusFitsOnAScreen(t *testing.T) {
	var changes []string
	for range 30 {
		changes = append(changes, "install a-package")
	}
	st := &Status{}
	st.judge([]step.Entry{at(1, "packages", step.Ended)}, []step.Forecast{{Step: step.Step{Name: "packages"}, Changes: changes}})
	var text bytes.Buffer
	if err := st.Write(&text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "a-package"); n != shown || !strings.Contains(text.String(), "and 26 more") || len(st.Steps[0].Changes) != 30 {
		t.Errorf("%d lines shown:\n%s", n, &text)
	}
}

// TestStatusScreens: the first screen of hosts in different states. go test -update
// writes testdata/status.
func TestStatusScreens(t *testing.T) {
	now := time.Date(2026, 1, 10, 3, 0, 0, 0, time.UTC)
	node := func() *Status {
		held := store.Bundle{Name: "bank", Created: "2026-01-01", Bytes: 4_200_000_000, Images: 41, Packages: 63}
		return &Status{
			now: now, Host: "node1", System: "Rocky Linux 9.5 (Blue Onyx)", Kernel: "5.14.0-503.el9.x86_64", Program: "1.2.3",
			Cluster: "bank", Kubernetes: "v1.36.3", Node: "node1", Address: "10.0.0.11", Roles: []config.Role{config.ControlPlane, config.Worker},
			Bundle: &held, From: site.StoreDir, Store: []store.Bundle{held}, Registry: "answers at 10.0.0.11:5000", command: "install", copied: site.StoreDir + "/bank",
			Health: &clusterHealth{OK: true, Says: "3 of 3 nodes ready"},
			Backup: &keptBackup{Dir: site.BackupDir + "/20260109T221500Z", Taken: now.Add(-285 * time.Minute), Bytes: 48_000_000, Key: "SHA256:" + strings.Repeat("0123456789abcdef", 4)},
		}
	}
	var steps []string
	const names = "record trust firewalld store registry dnf packages kernel-modules modules sysctls swap mirror runtime canary images " +
		"encryption kubeadm-config kubeadm versionlock network add-ons node-report report-unit agreement backup-timer join-material note"
	for name := range strings.FieldsSeq(names) {
		steps = append(steps, name)
	}
	did := func(n int) (entries []step.Entry) {
		for i, name := range steps[:n] {
			entries = append(entries, at(i, name, step.Began), at(i, name, step.Ended))
		}
		return entries
	}
	holding := func(n int) (now []step.Forecast) {
		for i, name := range steps {
			now = append(now, step.Forecast{Step: step.Step{Name: name, Title: "Title of " + name}, UpToDate: i < n})
		}
		return now
	}
	for name, made := range map[string]func() *Status{
		"never": func() *Status {
			return &Status{now: now, Host: "node9", System: "Rocky Linux 9.5 (Blue Onyx)", Kernel: "5.14.0-503.el9.x86_64", Program: "1.2.3", Registry: "none"}
		},
		"killed": func() *Status {
			st := node()
			st.Registry, st.Health, st.Backup = "silent: dial tcp 10.0.0.11:5000: connection refused", nil, nil
			st.judge(append(did(9), at(9, steps[9], step.Began)), holding(9))
			return st
		},
		"installed": func() *Status {
			st := node()
			st.judge(did(len(steps)), holding(len(steps)))
			return st
		},
		"all-steps": func() *Status {
			st := node()
			st.All = true
			st.judge(did(len(steps)), holding(len(steps)))
			return st
		},
		"drifted": func() *Status {
			st := node()
			forecasts := holding(len(steps))
			forecasts[9].UpToDate, forecasts[9].Changes = false, []string{"net.ipv4.ip_forward 0 → 1", "write /etc/sysctl.d/90-airgap.conf (changed)"}
			st.judge(did(len(steps)), forecasts)
			return st
		},
		"sick": func() *Status {
			st := node()
			st.Health = &clusterHealth{Says: "2 of 3 nodes ready; not node3"}
			st.Backup.Taken = now.Add(-100 * time.Hour)
			st.Certificates = []certs.Certificate{
				{File: "/var/lib/kubelet/pki/kubelet.crt", Purpose: certs.PurposeOf("/var/lib/kubelet/pki/kubelet.crt"), Ends: now.Add(-30 * time.Hour), Renewed: nodereport.RenewedByAirgap},
				{File: "/etc/kubernetes/pki/ca.crt", Purpose: certs.PurposeOf("/etc/kubernetes/pki/ca.crt"), Ends: now.Add(12*24*time.Hour + time.Hour), Renewed: nodereport.NotRenewed},
			}
			st.judge(did(len(steps)), holding(len(steps)))
			return st
		},
		"outdated": func() *Status {
			st := node()
			st.Running = []report.RunningProgram{{Unit: registry.UnitName, Version: report.UnknownVersion}, {Unit: nodereport.UnitName, Version: "1.2.3"}}
			st.tellOutdated()
			st.judge(did(len(steps)), holding(len(steps)))
			return st
		},
		"joined": func() *Status {
			st := node()
			st.Node, st.Address, st.Roles, st.From, st.command, st.copied, st.Store = "node4", "10.0.0.14", []config.Role{config.Worker}, site.IndexDir, "join", "", nil
			st.Host, st.Health, st.Backup = "node4", &clusterHealth{OK: true, Says: "this node is ready"}, nil
			st.judge(did(len(steps)), holding(len(steps)))
			return st
		},
		"reset-killed": func() *Status {
			st := node()
			st.Health, st.Backup, st.Registry = nil, nil, "none"
			st.judge(append(did(len(steps)), at(50, steps[26], step.Undone), at(51, steps[25], step.Undone)), holding(25))
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := made()
			st.Next = st.whatToDo()
			var got bytes.Buffer
			if err := st.Write(&got); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(got.String(), "\n"); lines > 24 && !st.All {
				t.Errorf("%d lines are more than a screen", lines)
			}
			file := filepath.Join("testdata/status", name+".txt")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s: %v; go test -update writes\n%s", file, err, &got)
			}
		})
	}
}

// TestStatusForPrograms: names in the JSON result stay the same.
func TestStatusForPrograms(t *testing.T) {
	st := &Status{Registry: "none"}
	var text bytes.Buffer
	if err := output.JSON(&text, st); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"bundles", "busy", "conclusion", "drifted", "problems", "registry", "roles", "steps"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("a status of nothing has %v, want %v", names, want)
	}
}

func TestJudgeNodes(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus) corev1.Node {
		n := corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: ready}}}}
		n.Name = name
		return n
	}
	three := []corev1.Node{node("a", corev1.ConditionTrue), node("b", corev1.ConditionUnknown), node("c", corev1.ConditionFalse)}
	if h := (&Status{}).judgeNodes(three); h.OK || h.Says != "1 of 3 nodes ready; not b, c" {
		t.Errorf("%+v", h)
	}
	if h := (&Status{}).judgeNodes([]corev1.Node{node("a", corev1.ConditionTrue)}); !h.OK || h.Says != "1 of 1 node ready" {
		t.Errorf("%+v", h)
	}
	if own := node("a", corev1.ConditionFalse); judgeNode(&own).OK {
		t.Error("it is ready")
	}
}

// TestEndSoon: the kubelet's own care is trusted until it has failed.
func TestEndSoon(t *testing.T) {
	list, err := certs.Of(sitetest.CertificatesHost(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range endSoon(list, time.Now()) {
		got = append(got, c.File)
	}
	if want := []string{"/var/lib/kubelet/pki/kubelet.crt", "/etc/kubernetes/pki/etcd/ca.crt"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
