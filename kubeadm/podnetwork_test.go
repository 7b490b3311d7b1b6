package kubeadm

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// podNetwork is a host's runtime with one container or none, and an API server with one
// pod.
type podNetwork struct {
	runtimeapi.UnimplementedRuntimeServiceServer

	runs  string // ID of the container that the runtime runs, "" for none
	pod   string // as the API server has it
	looks int    // at the runtime
	older bool   // the cluster has no such DaemonSet
	later func(*podNetwork)
}

func (n *podNetwork) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	n.looks++
	if n.looks == 2 && n.later != nil {
		n.later(n)
	}
	if n.runs == "" {
		return &runtimeapi.ListContainersResponse{}, nil
	}
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: n.runs}}}, nil
}

func (n *podNetwork) serve(t *testing.T, f *fakeHost, m Machine) {
	t.Helper()
	f.put(t, containerdConfig, "version = 3\n")
	serveCRI(t, m, func(server *grpc.Server) { runtimeapi.RegisterRuntimeServiceServer(server, n) })
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/apps/v1/namespaces/airgap-system/daemonsets/data-plane" && !n.older {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"data-plane"}}`)
			return
		}
		if r.URL.Path != "/api/v1/namespaces/airgap-system/pods" || r.URL.Query().Get("fieldSelector") != "spec.nodeName=cp1" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"PodList","items":[%s]}`, n.pod)
	}))
	t.Cleanup(server.Close)
	a := &api{Server: server}
	f.put(t, ClusterCA, a.ca())
	f.put(t, AdminConf, a.kubeconfig(m.path(ClusterCA)))
}

// daemon is a pod of a DaemonSet with one container.
func daemon(set, id string, ready bool) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"airgap-system","name":"p","ownerReferences":[{"kind":"DaemonSet","name":%q,"controller":true}]},
		"status":{"containerStatuses":[{"containerID":"containerd://%s","ready":%v}]}}`, set, id, ready)
}

func TestPodNetwork(t *testing.T) {
	for _, tc := range []struct {
		name, runs, pod string
		older, back     bool
	}{
		{"runs and is ready", "1", daemon("data-plane", "1", true), false, true},
		{"is as it was before the reboot", "", daemon("data-plane", "1", true), false, false},
		{"runs again, unknown yet", "2", daemon("data-plane", "1", true), false, false},
		{"is not ready", "1", daemon("data-plane", "1", false), false, false},
		{"has not begun", "1", `{"metadata":{"namespace":"airgap-system","ownerReferences":[{"kind":"DaemonSet","name":"data-plane","controller":true}]}}`, false, false},
		{"is another's", "1", daemon("other", "1", true), false, false},
		{"is not there", "1", "", false, false},
		{"is of no DaemonSet here", "1", "", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, m := newFake(t)
			(&podNetwork{runs: tc.runs, pod: tc.pod, older: tc.older}).serve(t, f, m)
			u := Upgrade{Machine: m, Config: section(t, "version: 1.36.3"), Node: Node{Name: "cp1"}, Networked: "airgap-system/data-plane"}
			err := u.networkedRuns(t.Context())
			if (err == nil) != tc.back || err != nil && !strings.Contains(err.Error(), "airgap-system/data-plane") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAwaitPodNetwork: after a reboot kubeadm is not run before the network's pod is
// back; who lets the check of kubeadm be ignored does not wait.
func TestAwaitPodNetwork(t *testing.T) {
	for _, ignored := range []bool{false, true} {
		t.Run(fmt.Sprint("ignored ", ignored), func(t *testing.T) {
			f, m := newFake(t)
			n := &podNetwork{pod: daemon("data-plane", "1", true)}
			n.later = func(n *podNetwork) {
				if f.ran("kubeadm") > 0 {
					t.Errorf("ran %q before the pods' network was back", f.calls)
				}
				n.runs, n.pod = "2", daemon("data-plane", "2", true)
			}
			n.serve(t, f, m)
			config, looks := "version: 1.36.3", 2
			if ignored {
				config, looks = config+"\nignorePreflightErrors: [CreateJob]", 0
			}
			u := Upgrade{
				Machine: m, Config: section(t, config), Node: Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true}, First: true,
				Networked: "airgap-system/data-plane",
			}
			if err := u.ControlPlane().Run(t.Context()); err != nil || f.ran("kubeadm upgrade apply") != 1 || n.looks != looks {
				t.Errorf("%v, looked %d times, ran %q", err, n.looks, f.calls)
			}
		})
	}
}
