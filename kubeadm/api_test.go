package kubeadm

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/runtime"
)

// api is an API server: it answers what the steps ask, over TLS.
type api struct {
	*httptest.Server
	version string
	up      atomic.Bool
	parcel  []byte // of abcdef; nil is not found
	burnt   int    // how often the token abcdef was deleted
	ready   int    // how often node w1 is still said to be ready
	beside  bool   // node cp1 is one of two in the control plane
	deleted int    // how often it was deleted

	corefile  string
	conflicts int    // how many updates of it are refused first
	theirs    string // what somebody else adds to it then
}

func newAPI(t *testing.T) *api {
	a := &api{version: "v1.36.3"}
	a.up.Store(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"gitVersion":%q}`, a.version)
	})
	mux.HandleFunc("GET /api/v1/nodes/w1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		ready := "False"
		if a.ready > 0 {
			a.ready--
			ready = "True"
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"w1"},"status":{"conditions":[{"type":"Ready","status":%q}]}}`, ready)
	})
	mux.HandleFunc("GET /api/v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		other := ""
		if a.beside {
			other = `,{"metadata":{"name":"cp2"}}`
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"cp1"}}%s]}`, other)
	})
	mux.HandleFunc("DELETE /api/v1/nodes/cp1", func(w http.ResponseWriter, _ *http.Request) {
		a.deleted++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/secrets/airgap-parcel-abcdef", a.getParcel)
	mux.HandleFunc("DELETE /api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef", a.burn)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/coredns", a.getCoreDNS)
	mux.HandleFunc("PUT /api/v1/namespaces/kube-system/configmaps/coredns", a.putCoreDNS)
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.up.Load() {
			http.Error(w, "etcd is not there", http.StatusInternalServerError)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) getParcel(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if a.parcel == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"secrets \"airgap-parcel-abcdef\" not found"}`)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "airgap-parcel-abcdef"}, "data": map[string][]byte{"parcel": a.parcel},
	})
}

func (a *api) burn(w http.ResponseWriter, _ *http.Request) {
	a.burnt++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
}

func (a *api) getCoreDNS(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "coredns"},
		"data": map[string]string{"Corefile": a.corefile},
	})
}

func (a *api) putCoreDNS(w http.ResponseWriter, r *http.Request) {
	if a.conflicts > 0 {
		a.conflicts--
		a.corefile += a.theirs
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Conflict","code":409}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var config corev1.ConfigMap
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &config); err != nil { // it comes as protobuf
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.corefile = config.Data["Corefile"]
	a.getCoreDNS(w, r)
}

func (a *api) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}))
}

func (a *api) kubeconfig(ca string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]\n", a.URL, ca)
}

// withKubeadm gives the host a kubeadm that writes what the real one would,
// and a systemctl that knows whether the kubelet runs. The kubelet is healthy
// unless sick.
func withKubeadm(t *testing.T, f *hosttest.Fake, m Machine, a *api) (sick *atomic.Bool) {
	running, enabled := false, false
	sick = new(atomic.Bool)
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !running || sick.Load() {
			http.Error(w, "it is not", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(kubelet.Close)
	healthz := "healthzBindAddress: 0.0.0.0\nhealthzPort: " + kubelet.URL[strings.LastIndex(kubelet.URL, ":")+1:] + "\n"
	start := func(files ...string) func(host.Cmd) ([]byte, error) {
		return func(host.Cmd) ([]byte, error) {
			running = true
			f.Put(t, runtime.KubeletConfig, healthz)
			f.Put(t, ClusterCA, a.ca())
			for _, file := range files {
				f.Put(t, file, a.kubeconfig(m.Path(ClusterCA)))
			}
			return nil, nil
		}
	}
	f.Answers["kubeadm init"] = start(AdminConf, schedulerConf)
	f.Answers["kubeadm join"] = start(KubeletConf)
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { running = false; return nil, nil }
	f.Answers["systemctl enable kubelet"] = func(host.Cmd) ([]byte, error) { enabled = true; return nil, nil }
	f.Answers["systemctl enable --now kubelet"] = func(host.Cmd) ([]byte, error) { running, enabled = true, true; return nil, nil }
	f.Answers["systemctl disable --now kubelet"] = func(host.Cmd) ([]byte, error) { running, enabled = false, false; return nil, nil }
	f.Answers["systemctl stop kubelet"] = func(host.Cmd) ([]byte, error) { running = false; return nil, nil }
	is := func(what *bool) func(host.Cmd) ([]byte, error) {
		return func(_ host.Cmd) ([]byte, error) {
			if *what {
				return nil, nil
			}
			return nil, &host.CommandError{Argv: []string{"systemctl"}, ExitCode: 3, Err: errors.New("exit status 3")}
		}
	}
	f.Answers["systemctl is-active --quiet kubelet"] = is(&running)
	f.Answers["systemctl is-enabled --quiet kubelet"] = is(&enabled)
	return sick
}
