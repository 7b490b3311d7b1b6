// Package kubetest has an API server and the processes of a node for the tests of several packages
// below kubeadm.
package kubetest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// API is an API server that answers the requests of the steps over TLS.
type API struct {
	*httptest.Server
	Version string
	Up      atomic.Bool
	Secrets []byte // of abcdef; nil is not found
	Burnt   int    // how often the token abcdef was deleted
	Ready   int    // how often node w1 is still said to be ready
	Beside  bool   // node cp1 is one of two in the control plane
	Deleted int    // how often it was deleted

	Corefile  string
	Conflicts int    // number of updates that it refuses first
	Theirs    string // the text that another client adds then
}

// NewAPI starts one; it ends with the test.
func NewAPI(t *testing.T) *API {
	a := &API{Version: "v1.36.3"}
	a.Up.Store(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"gitVersion":%q}`, a.Version)
	})
	mux.HandleFunc("GET /api/v1/nodes/w1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		ready := "False"
		if a.Ready > 0 {
			a.Ready--
			ready = "True"
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"w1"},"status":{"conditions":[{"type":"Ready","status":%q}]}}`, ready)
	})
	mux.HandleFunc("GET /api/v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		other := ""
		if a.Beside {
			other = `,{"metadata":{"name":"cp2"}}`
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"cp1"}}%s]}`, other)
	})
	mux.HandleFunc("DELETE /api/v1/nodes/cp1", func(w http.ResponseWriter, _ *http.Request) {
		a.Deleted++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/secrets/airgap-parcel-abcdef", a.getParcel)
	mux.HandleFunc("DELETE /api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef", a.burn)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/coredns", a.getCoreDNS)
	mux.HandleFunc("PUT /api/v1/namespaces/kube-system/configmaps/coredns", a.putCoreDNS)
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Up.Load() {
			http.Error(w, "etcd is not there", http.StatusInternalServerError)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *API) getParcel(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if a.Secrets == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"secrets \"airgap-parcel-abcdef\" not found"}`)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "airgap-parcel-abcdef"}, "data": map[string][]byte{"parcel": a.Secrets},
	})
}

func (a *API) burn(w http.ResponseWriter, _ *http.Request) {
	a.Burnt++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Success"}`)
}

func (a *API) getCoreDNS(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "coredns"},
		"data": map[string]string{"Corefile": a.Corefile},
	})
}

func (a *API) putCoreDNS(w http.ResponseWriter, r *http.Request) {
	if a.Conflicts > 0 {
		a.Conflicts--
		a.Corefile += a.Theirs
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
	a.Corefile = config.Data["Corefile"]
	a.getCoreDNS(w, r)
}

// CA is its certificate, PEM.
func (a *API) CA() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}))
}

// Kubeconfig reaches it by the file of a CA.
func (a *API) Kubeconfig(ca string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]\n", a.URL, ca)
}
