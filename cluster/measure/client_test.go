package measure

import (
	"strings"
	"testing"
	"time"
)

// TestClientTargets: the API and an ingress have a default port, and a NodePort has none.
func TestClientTargets(t *testing.T) {
	for _, test := range []struct {
		options ClientOptions
		want    string // addresses, or a part of the error
	}{
		{ClientOptions{Address: "k8s.bank.example"}, "k8s.bank.example:6443"},
		{ClientOptions{Address: "https://k8s.bank.example:443/", Ingress: []string{"apps.bank.example", "10.0.0.9:8443"}, NodePorts: []string{"10.20.0.21:30080"}},
			"k8s.bank.example:443 apps.bank.example:443 10.0.0.9:8443 10.20.0.21:30080"},
		{ClientOptions{Address: "k8s.bank.example", NodePorts: []string{"10.20.0.21"}}, `--node-port "10.20.0.21": expected HOST:PORT`},
		{ClientOptions{Address: ""}, `ADDRESS "": expected HOST:PORT`},
		{ClientOptions{Address: "https://k8s.bank.example/api"}, "expected HOST:PORT"},
		{ClientOptions{Address: "k8s.bank.example:70000"}, "expected HOST:PORT"},
	} {
		all, err := test.options.targets()
		var got []string
		for _, target := range all {
			got = append(got, target.Address)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); err == nil && text != test.want || !strings.Contains(text, test.want) {
			t.Errorf("%+v: %q, want %q", test.options, text, test.want)
		}
	}
	if _, err := Client(t.Context(), ClientOptions{Address: "k8s.bank.example", Idle: 25 * time.Hour}); err == nil || !strings.Contains(err.Error(), "--idle 25h0m0s") {
		t.Errorf("%v", err)
	}
}
