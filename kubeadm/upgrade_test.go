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

// TestBehind: what of a configuration an upgrade has to bring, by the kind of host.
func TestBehind(t *testing.T) {
	master, worker := Node{Name: "cp1", ControlPlane: true}, Node{Name: "w1"}
	const was = "version: 1.36.3"
	for _, tc := range []struct {
		name, now, master, worker string
	}{
		{"nothing", was, "", ""},
		{"another version", "version: 1.36.4", "Kubernetes 1.36.3, not 1.36.4", "Kubernetes 1.36.3, not 1.36.4"},
		{"the kubelet's", was + "\noverrides: {kubelet: {maxPods: 50}}", "another configuration of Kubernetes 1.36.3", "another configuration of Kubernetes 1.36.3"},
		{"the control plane's", was + "\naudit: {maxAge: 7}", "another configuration of Kubernetes 1.36.3", ""},
		{"the audit policy", was + "\naudit: {policy: {rules: [{level: Metadata}]}}", "another configuration of Kubernetes 1.36.3", ""},
		{"checks of kubeadm", was + "\nignorePreflightErrors: [Swap]", "", ""},
	} {
		for _, host := range []struct {
			n    Node
			want string
		}{{master, tc.master}, {worker, tc.worker}} {
			n, want := host.n, host.want
			t.Run(tc.name+" on "+n.Name, func(t *testing.T) {
				_, m := newFake(t)
				if got, err := m.Behind(t.Context(), section(t, tc.now), n); err != nil || got != "" {
					t.Errorf("a host that has not joined: %q, %v", got, err)
				}
				if err := errors.Join(m.noteConfigured(section(t, was), n), node.SetState(m.Machine, node.Ended)); err != nil {
					t.Fatal(err)
				}
				if got, err := m.Behind(t.Context(), section(t, tc.now), n); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			})
		}
	}
}

// TestBehindOfOld: an airgap that did not write the configuration down.
func TestBehindOfOld(t *testing.T) {
	f, m := newFake(t)
	f.Answers["kubelet --version"] = func(host.Cmd) ([]byte, error) { return []byte("Kubernetes v1.35.8\n"), nil }
	if err := node.SetState(m.Machine, node.Ended); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"1.35.8": "", "1.36.3": "Kubernetes 1.35.8, not 1.36.3"} {
		if got, err := m.Behind(t.Context(), section(t, "version: "+version), Node{Name: "w1"}); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", version, got, err, want)
		}
	}
}

// node is an API server with one node, whose kubelet has the version that it is
// started with.
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

// TestUpgrade goes the way of a worker and of the first host, and once more: nothing
// is repeated.
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
			hosttest.MustHold(t, plane.Done, false)
			if err := plane.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustHold(t, plane.Done, true)
			hosttest.MustHold(t, kubelet.Done, false)
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
				t.Errorf("%s is\n%s, %v", upgradeFile, text, err)
			}
			if behind, err := m.Behind(t.Context(), u.Config, n); err != nil || behind == "" {
				t.Errorf("before the kubelet has started it is behind by %q, %v", behind, err)
			}
			if err := kubelet.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			hosttest.MustHold(t, plane.Done, true)
			hosttest.MustHold(t, kubelet.Done, true)
			if behind, err := m.Behind(t.Context(), u.Config, n); err != nil || behind != "" {
				t.Errorf("at the end it is behind by %q, %v", behind, err)
			}
		})
	}
}

// TestHalfAnUpgradeIsTakenBack: a worker whose upgrade was broken off between kubeadm and
// the kubelet is not as before, though that is what it has noted; and it is when its kubelet
// has been started anew, killed on the way or not.
func TestHalfAnUpgradeIsTakenBack(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	n, was := Node{Name: "w1"}, section(t, "version: 1.35.8")
	up := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: n}
	if err := errors.Join(m.noteConfigured(was, n), node.SetState(m.Machine, node.Ended), up.ControlPlane().Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	back := Upgrade{Machine: m, Config: was, Node: n}
	for _, says := range []string{"half of an upgrade to Kubernetes 1.36.3", "half of an upgrade to Kubernetes 1.35.8"} { // the second: killed
		if behind, err := m.Behind(t.Context(), was, n); err != nil || behind != says {
			t.Errorf("it is behind by %q, %v, want %q", behind, err, says)
		}
		hosttest.MustHold(t, back.Kubelet().Done, false)
		if done, err := back.ControlPlane().Done(t.Context()); err != nil || done != strings.HasSuffix(says, "1.35.8") {
			t.Errorf("%s: kubeadm's part is done: %v, %v", says, done, err)
		}
		if err := back.ControlPlane().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := back.Kubelet().Run(t.Context()); err != nil || f.Ran("systemctl restart kubelet") != 1 {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
	hosttest.MustHold(t, back.ControlPlane().Done, true)
	hosttest.MustHold(t, back.Kubelet().Done, true)
	if behind, err := m.Behind(t.Context(), was, n); err != nil || behind != "" {
		t.Errorf("at the end it is behind by %q, %v", behind, err)
	}
}

// TestKubeletDoesNotComeBack: a host whose kubelet does not show the new version in time
// is told, with the kubelet's own last words, and counts as not upgraded.
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
			t.Errorf("%q is not in %v", says, err)
		}
	}
	hosttest.MustHold(t, u.Kubelet().Done, false)
	if behind, err := m.Behind(t.Context(), u.Config, u.Node); err != nil || behind == "" {
		t.Errorf("it is behind by %q, %v", behind, err)
	}
}

// TestKubeProxy: its document is written once for each configuration.
func TestKubeProxy(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "cp1", ControlPlane: true}, First: true}
	s := u.KubeProxy()
	hosttest.MustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil || f.Ran("kubeadm init phase addon kube-proxy --config "+leave.ConfigFile) != 1 {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
	hosttest.MustHold(t, s.Done, true)
	u.Config.Overrides.KubeProxy = map[string]any{"metricsBindAddress": "0.0.0.0:10249"}
	hosttest.MustHold(t, u.KubeProxy().Done, false)
}

// TestKubeProxyKilled: who was killed after kubeadm had written the configuration does
// not know whether the pods have it.
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
		t.Errorf("the same configuration: %v, %d restarts", err, restarts.Load())
	}
	f.Put(t, leave.ProxyingFile, "")
	if err := s.Run(t.Context()); err != nil || restarts.Load() != 1 {
		t.Errorf("after a kill: %v, %d restarts", err, restarts.Load())
	}
	hosttest.MustHold(t, s.Done, true)
	if err := s.Run(t.Context()); err != nil || restarts.Load() != 1 {
		t.Errorf("once more: %v, %d restarts", err, restarts.Load())
	}
}

// TestUpgradeFails: what kubeadm could not do is not noted as done.
func TestUpgradeFails(t *testing.T) {
	f, m := newFake(t)
	upgradeAPI(t, f, m)
	f.Fails("kubeadm upgrade node", 1, "[ERROR ImagePull]: it did not come")
	u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "w1"}}
	err := u.ControlPlane().Run(t.Context())
	var failure *host.Failure
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "kubeadm upgrade") || !strings.Contains(failure.Next, "registry") {
		t.Errorf("got %v", err)
	}
	hosttest.MustHold(t, u.ControlPlane().Done, false)
}

// TestUpgradeAfterReboot: kubeadm's Job that is too slow is tried again, until the time is
// over; anything else is not.
func TestUpgradeAfterReboot(t *testing.T) {
	const slow, full = `[ERROR CreateJob]: Job "upgrade-health-check-1" in the namespace "kube-system" did not complete in 1m0s`, "[ERROR ImagePull]: it did not come"
	for _, tc := range []struct {
		name     string
		patience time.Duration
		said     []string // each time, "" is success
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
				said := tc.said[runs]
				if runs++; said == "" {
					return nil, nil
				}
				return nil, &host.CommandError{Argv: append([]string{c.Name}, c.Args...), ExitCode: 1, Tail: said, Err: errors.New("exit status 1")}
			}
			u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true}, First: true, patience: tc.patience}
			err := u.ControlPlane().Run(t.Context())
			if (err != nil) != tc.fails || runs != tc.runs {
				t.Errorf("%d runs, %v", runs, err)
			}
			hosttest.MustHold(t, u.ControlPlane().Done, !tc.fails)
		})
	}
}

// TestRehearseWrites: a webhook that says no, or does not answer, is named; one that
// may not be asked this way is not; nothing is written.
func TestRehearseWrites(t *testing.T) {
	pod := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"till","uid":"1","controller":true}]}}`, name)
	}
	for _, tc := range []struct{ name, refused, says, want string }{
		{"nobody objects", "", "", ""},
		{"a dead webhook", "/nodes/cp1", `failed calling webhook \"lost.bank.example\"`, "change node cp1"},
		{"a strict one", "/pods", `admission webhook \"strict\" denied the request`, "make a pod in kube-system"},
		{"one for Jobs", "/jobs", `admission webhook \"strict\" denied the request`, "make a Job in kube-system"},
		{"one for DaemonSets", "/daemonsets/kube-proxy", `admission webhook \"strict\" denied the request`, "change DaemonSet kube-system/kube-proxy"},
		{"one for evictions", "/shop/pods/till-1/eviction", `admission webhook \"strict\" denied the request`, "evict pod shop/till-1"},
		{"one with side effects", "/configmaps/kubeadm-config", "admission webhook does not support dry run", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, m := newFake(t)
			asked := 0
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // what would be drained: two pods of one namespace
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":[`+pod("till-1")+`,`+pod("till-2")+`]}`)
					return
				}
				asked++
				if r.URL.Query().Get("dryRun") != "All" {
					t.Errorf("%s %s would be kept", r.Method, r.URL)
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
			err = RehearseWrites(t.Context(), client, Config{}, "cp1", "w1", "w2")
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "webhook")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if tc.want == "" && asked != 8 {
				t.Errorf("asked for %d writes", asked)
			}
		})
	}
}
