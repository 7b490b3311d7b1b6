package kubeadm

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/runtime"
)

const forward = `    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
`

// kubeadmCorefile is the Corefile of kubeadm 1.36.
const kubeadmCorefile = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
` + forward + `    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`

func TestNoForwarding(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	a.Corefile = kubeadmCorefile
	f.Put(t, kube.ClusterCA, a.CA())
	f.Put(t, kube.AdminConf, a.Kubeconfig(m.Path(kube.ClusterCA)))
	s := NoForwarding(m)
	hosttest.MustBeDone(t, s.Done, false)
	a.Conflicts, a.Theirs = 1, "bank.example:53 {\n}\n" // another writer at the same time
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if want := strings.Replace(kubeadmCorefile, forward, "", 1) + a.Theirs; a.Corefile != want {
		t.Errorf("got Corefile\n%s\nwant\n%s", a.Corefile, want)
	}
	a.Up.Store(false)
	if _, err := s.Done(t.Context()); err == nil {
		t.Error("Done without an API server: got no error, want one")
	}
}

func TestKubeletWithoutNameServers(t *testing.T) {
	text, err := InitDocuments(section(t, `{version: 1.36.3, dns: none}`), Node{Name: "cp1", Address: "192.0.2.11"}, runtime.Facts{Driver: runtime.Systemd})
	if err != nil || !strings.Contains(string(text), "\nresolvConf: \"\"\n") {
		t.Errorf("got error %v and\n%s\nwant an empty resolvConf", err, text)
	}
}

func TestWithoutForward(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		".:53 {\n  forward . 10.0.0.53\n  cache\n}\n":                  ".:53 {\n  cache\n}\n",
		".:53 {\n  forward . tls://9.9.9.9 {\n\n  }\n  forwarded\n}\n": ".:53 {\n  forwarded\n}\n",
	} {
		if got := withoutForward(text); got != want {
			t.Errorf("withoutForward(%q): got %q, want %q", text, got, want)
		}
	}
}
