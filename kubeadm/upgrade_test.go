package kubeadm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// TestBehind: the differences that need an upgrade depend on the kind of host.
func TestBehind(t *testing.T) {
	controlPlane, worker := Node{Name: "cp1", ControlPlane: true}, Node{Name: "w1"}
	const was = "version: 1.36.3"
	for _, tc := range []struct {
		name, now, controlPlane, worker string
	}{
		{"nothing", was, "", ""},
		{"another version", "version: 1.36.4", "Kubernetes 1.36.3, not 1.36.4", "Kubernetes 1.36.3, not 1.36.4"},
		{"the kubelet's", was + "\noverrides: {kubelet: {maxPods: 50}}", "different configuration of Kubernetes 1.36.3", "different configuration of Kubernetes 1.36.3"},
		{"the control plane's", was + "\naudit: {maxAge: 7}", "different configuration of Kubernetes 1.36.3", ""},
		{"the audit policy", was + "\naudit: {policy: {rules: [{level: Metadata}]}}", "different configuration of Kubernetes 1.36.3", ""},
		{"checks of kubeadm", was + "\nignorePreflightErrors: [Swap]", "", ""},
	} {
		for _, host := range []struct {
			n    Node
			want string
		}{{controlPlane, tc.controlPlane}, {worker, tc.worker}} {
			n, want := host.n, host.want
			t.Run(tc.name+" on "+n.Name, func(t *testing.T) {
				_, m := newFake(t)
				if got, err := m.UpgradeNeeded(t.Context(), section(t, tc.now), n); err != nil || got != "" {
					t.Errorf("on a host that has not joined: got %q, %v, want none", got, err)
				}
				if err := errors.Join(m.noteConfigured(section(t, was), n), node.SetState(m.Machine, node.Ended)); err != nil {
					t.Fatal(err)
				}
				if got, err := m.UpgradeNeeded(t.Context(), section(t, tc.now), n); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			})
		}
	}
}

// TestBehindOfOld: a host of an older airgap, which did not save its configuration.
func TestBehindOfOld(t *testing.T) {
	f, m := newFake(t)
	f.Answers["kubelet --version"] = func(host.Cmd) ([]byte, error) { return []byte("Kubernetes v1.35.8\n"), nil }
	if err := node.SetState(m.Machine, node.Ended); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"1.35.8": "", "1.36.3": "Kubernetes 1.35.8, not 1.36.3"} {
		if got, err := m.UpgradeNeeded(t.Context(), section(t, "version: "+version), Node{Name: "w1"}); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", version, got, err, want)
		}
	}
}

// upgradeAPI is an API server with one node. Its kubelet has the stored version.
func upgradeAPI(t *testing.T, f *hosttest.Fake, m Machine) *atomic.Value {
	t.Helper()
	version := new(atomic.Value)
	version.Store("v1.35.8")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/configmaps/") {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-proxy"},"data":{"config.conf":"mode: iptables"}}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"w1"},"status":{"nodeInfo":{"kubeletVersion":%q},"conditions":[{"type":"Ready","status":"True"}]}}`, version.Load())
	}))
	t.Cleanup(server.Close)
	a := &kubetest.API{Server: server}
	f.Put(t, kube.ClusterCA, a.CA())
	for _, file := range []string{kube.AdminConf, kube.KubeletConf} {
		f.Put(t, file, a.Kubeconfig(m.Path(kube.ClusterCA)))
	}
	f.Put(t, runtime.KubeletConfig, "healthzPort: 0\n")
	return version
}

// TestUpgrade upgrades a worker and the first host: each step is done after its run.
func TestUpgrade(t *testing.T) {
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprint("first ", first), func(t *testing.T) {
			f, m := newFake(t)
			version := upgradeAPI(t, f, m)
			n := Node{Name: "w1", Address: "192.0.2.21", ControlPlane: first}
			if err := errors.Join(m.noteConfigured(section(t, "version: 1.35.8"), n), node.SetState(m.Machine, node.Ended)); err != nil {
				t.Fatal(err)
			}
			f.Answers["systemctl restart kubelet"] = func(host.Cmd) ([]byte, error) { version.Store("v1.36.3"); return nil, nil }
			u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3\nignorePreflightErrors: [Swap]"), Node: n, First: first}
			plane, kubelet := u.ControlPlane(), u.Kubelet()
			hosttest.MustBeDone(t, plane.Done, false)
			if err := plane.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustBeDone(t, plane.Done, true)
			hosttest.MustBeDone(t, kubelet.Done, false)
			want := []string{"kubeadm upgrade node --config " + upgradeFile}
			if first {
				want = []string{
					"kubeadm init phase upload-config all --config " + leave.ConfigFile,
					"kubeadm upgrade apply --yes --config " + upgradeFile,
				}
			}
			if strings.Join(f.Calls, "|") != strings.Join(want, "|") {
				t.Errorf("ran %q, want %q", f.Calls, want)
			}
			text, err := os.ReadFile(m.Path(upgradeFile))
			if err != nil || !strings.Contains(string(text), "kubernetesVersion: v1.36.3") || strings.Count(string(text), "- Swap") != 2 {
				t.Errorf("got %s\n%s, %v", upgradeFile, text, err)
			}
			if behind, err := m.UpgradeNeeded(t.Context(), u.Config, n); err != nil || behind == "" {
				t.Errorf("before the start of the kubelet: got difference %q, %v, want one", behind, err)
			}
			if err := kubelet.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustBeDone(t, plane.Done, true)
			hosttest.MustBeDone(t, kubelet.Done, true)
			if behind, err := m.UpgradeNeeded(t.Context(), u.Config, n); err != nil || behind != "" {
				t.Errorf("at the end: got difference %q, %v, want none", behind, err)
			}
		})
	}
}

// TestRollbackOfAnUnfinishedUpgrade: an upgrade of a worker stopped between kubeadm and the
// kubelet. The worker differs from the old configuration, although its file has that one, until
// both steps of the rollback have run, also after a kill between them.
func TestRollbackOfAnUnfinishedUpgrade(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	n, was := Node{Name: "w1"}, section(t, "version: 1.35.8")
	up := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: n}
	if err := errors.Join(m.noteConfigured(was, n), node.SetState(m.Machine, node.Ended), up.ControlPlane().Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	back := Upgrade{Machine: m, Config: was, Node: n}
	for _, says := range []string{"unfinished upgrade to Kubernetes 1.36.3", "unfinished upgrade to Kubernetes 1.35.8"} { // the second one was killed
		if behind, err := m.UpgradeNeeded(t.Context(), was, n); err != nil || behind != says {
			t.Errorf("got difference %q, %v, want %q", behind, err, says)
		}
		hosttest.MustBeDone(t, back.Kubelet().Done, false)
		if done, err := back.ControlPlane().Done(t.Context()); err != nil || done != strings.HasSuffix(says, "1.35.8") {
			t.Errorf("%s: got kubeadm step done %v, %v", says, done, err)
		}
		if err := back.ControlPlane().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := back.Kubelet().Run(t.Context()); err != nil || f.Ran("systemctl restart kubelet") != 1 {
		t.Errorf("got %v, ran %q, want one restart of the kubelet", err, f.Calls)
	}
	hosttest.MustBeDone(t, back.ControlPlane().Done, true)
	hosttest.MustBeDone(t, back.Kubelet().Done, true)
	if behind, err := m.UpgradeNeeded(t.Context(), was, n); err != nil || behind != "" {
		t.Errorf("at the end: got difference %q, %v, want none", behind, err)
	}
}

// TestKubeletDoesNotComeBack: if a kubelet does not report the new version in time, the error has
// the end of its journal, and the host counts as not upgraded.
func TestKubeletDoesNotComeBack(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	f.Answers["journalctl -u kubelet"] = func(host.Cmd) ([]byte, error) { return []byte("failed to load the CNI configuration\n"), nil }
	u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "w1"}, patience: 2 * time.Second}
	if err := errors.Join(m.noteConfigured(section(t, "version: 1.35.8"), u.Node), node.SetState(m.Machine, node.Ended), u.ControlPlane().Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	err := u.Kubelet().Run(t.Context())
	var failure *host.Failure
	if !errors.As(err, &failure) || failure.Hint() == "" {
		t.Fatalf("got %v", err)
	}
	for _, says := range []string{"wait for the upgraded kubelet: ", "the API server shows node w1 with kubelet v1.35.8, not v1.36.3", "kubelet said last:\nfailed to load the CNI configuration"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want it to contain %q", err, says)
		}
	}
	hosttest.MustBeDone(t, u.Kubelet().Done, false)
	if behind, err := m.UpgradeNeeded(t.Context(), u.Config, u.Node); err != nil || behind == "" {
		t.Errorf("got difference %q, %v, want one", behind, err)
	}
}

// TestKubeProxy: the configuration is written once for each version of it. Also a host that joined, and continues the
// upgrade of a lost one, has the file that kubeadm reads.
func TestKubeProxy(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "cp1", ControlPlane: true}, First: true}
	s := u.KubeProxy()
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil || f.Ran("kubeadm init phase addon kube-proxy --config "+leave.ConfigFile) != 1 {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
	if want, err := InitDocuments(u.Config, u.Node, u.Facts); err != nil || f.Get(leave.ConfigFile) != string(want) {
		t.Errorf("%v, %s has %q", err, leave.ConfigFile, f.Get(leave.ConfigFile))
	}
	hosttest.MustBeDone(t, s.Done, true)
	u.Config.Overrides.KubeProxy = map[string]any{"metricsBindAddress": "0.0.0.0:10249"}
	hosttest.MustBeDone(t, u.KubeProxy().Done, false)
}

// TestKubeProxyKilled: after a kill between the new configuration and the restart, the step
// restarts the pods.
func TestKubeProxyKilled(t *testing.T) {
	f, m := newFake(t)
	var restarts atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			restarts.Add(1)
			fmt.Fprint(w, `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"kube-proxy"}}`)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-proxy"},"data":{"config.conf":"mode: iptables"}}`)
	}))
	t.Cleanup(server.Close)
	a := &kubetest.API{Server: server}
	f.Put(t, kube.ClusterCA, a.CA())
	f.Put(t, kube.AdminConf, a.Kubeconfig(m.Path(kube.ClusterCA)))
	s := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "cp1", ControlPlane: true}, First: true}.KubeProxy()
	if err := s.Run(t.Context()); err != nil || restarts.Load() != 0 {
		t.Errorf("with the same configuration: got %v, %d restarts, want 0", err, restarts.Load())
	}
	f.Put(t, leave.ProxyPendingFile, "")
	if err := s.Run(t.Context()); err != nil || restarts.Load() != 1 {
		t.Errorf("after a kill: got %v, %d restarts, want 1", err, restarts.Load())
	}
	hosttest.MustBeDone(t, s.Done, true)
	if err := s.Run(t.Context()); err != nil || restarts.Load() != 1 {
		t.Errorf("second run: got %v, %d restarts, want 1", err, restarts.Load())
	}
}

// TestUpgradeFails: a failed kubeadm upgrade does not count as done.
func TestUpgradeFails(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	f.Fails("kubeadm upgrade node", 1, "[ERROR ImagePull]: pull failed")
	u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "w1"}}
	err := u.ControlPlane().Run(t.Context())
	var failure *host.Failure
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "kubeadm upgrade") || !strings.Contains(failure.Next, "registry") {
		t.Errorf("got %v", err)
	}
	hosttest.MustBeDone(t, u.ControlPlane().Done, false)
}

// TestUpgradeAfterReboot: kubeadm runs again while only its Job is too slow, until the timeout.
// Other errors are not retried.
func TestUpgradeAfterReboot(t *testing.T) {
	const slow, full = `[ERROR CreateJob]: Job "upgrade-health-check-1" in the namespace "kube-system" did not complete in 1m0s`, "[ERROR ImagePull]: pull failed"
	for _, tc := range []struct {
		name     string
		patience time.Duration
		output   []string // of each run; "" is success
		runs     int
		fails    bool
	}{
		{"back in time", time.Minute, []string{slow, slow, ""}, 3, false},
		{"not back in time", time.Nanosecond, []string{slow, ""}, 1, true},
		{"something else as well", time.Minute, []string{slow + "\n" + full, ""}, 1, true},
		{"something else", time.Minute, []string{full, ""}, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, m := newFake(t)
			upgradeAPI(t, f, m)
			runs := 0
			f.Answers["kubeadm upgrade apply"] = func(c host.Cmd) ([]byte, error) {
				output := tc.output[runs]
				if runs++; output == "" {
					return nil, nil
				}
				return nil, &host.CommandError{Argv: append([]string{c.Name}, c.Args...), ExitCode: 1, Tail: output, Err: errors.New("exit status 1")}
			}
			u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true}, First: true, patience: tc.patience}
			err := u.ControlPlane().Run(t.Context())
			if (err != nil) != tc.fails || runs != tc.runs {
				t.Errorf("got %d runs, %v, want %d", runs, err, tc.runs)
			}
			hosttest.MustBeDone(t, u.ControlPlane().Done, !tc.fails)
		})
	}
}

// TestDryRunWrites: the error names a webhook that denies or does not answer. A webhook without
// support for dry runs is skipped, and no write is persisted.
func TestDryRunWrites(t *testing.T) {
	pod := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"till","uid":"1","controller":true}]}}`, name)
	}
	for _, tc := range []struct{ name, refused, says, want string }{
		{"no webhook denies", "", "", ""},
		{"a dead webhook", "/nodes/cp1", `failed calling webhook \"lost.bank.example\"`, "change node cp1"},
		{"a strict one", "/pods", `admission webhook \"strict\" denied the request`, "create a pod in kube-system"},
		{"one for Jobs", "/jobs", `admission webhook \"strict\" denied the request`, "create a Job in kube-system"},
		{"one for DaemonSets", "/daemonsets/kube-proxy", `admission webhook \"strict\" denied the request`, "change DaemonSet kube-system/kube-proxy"},
		{"one for evictions", "/shop/pods/till-1/eviction", `admission webhook \"strict\" denied the request`, "evict pod shop/till-1"},
		{"one with side effects", "/configmaps/kubeadm-config", "admission webhook does not support dry run", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, m := newFake(t)
			asked := 0
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // the pods to drain: two of one namespace
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":[`+pod("till-1")+`,`+pod("till-2")+`]}`)
					return
				}
				asked++
				if r.URL.Query().Get("dryRun") != "All" {
					t.Errorf("%s %s: got a write that persists, want dryRun=All", r.Method, r.URL)
				}
				w.Header().Set("Content-Type", "application/json")
				if tc.refused != "" && strings.HasSuffix(r.URL.Path, tc.refused) {
					w.WriteHeader(http.StatusInternalServerError)
					fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"%s"}`, tc.says)
					return
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]string{"name": "x"}})
			}))
			defer server.Close()
			a := &kubetest.API{Server: server}
			f.Put(t, kube.ClusterCA, a.CA())
			f.Put(t, kube.AdminConf, a.Kubeconfig(m.Path(kube.ClusterCA)))
			client, err := kube.Client(m.Machine, kube.AdminConf)
			if err != nil {
				t.Fatal(err)
			}
			err = DryRunWrites(t.Context(), client, Config{}, "cp1", "w1", "w2")
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "webhook")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if tc.want == "" && asked != 8 {
				t.Errorf("got %d writes, want 8", asked)
			}
		})
	}
}
