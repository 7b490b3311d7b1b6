package kubeadm

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/pki"
)

// ticketFor is a ticket that the fake API server accepts, with its code already read.
func ticketFor(t *testing.T, a *kubetest.API, text string) *jointoken.ValidatedToken {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: a.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(a.CA())}})
	if err != nil {
		t.Fatal(err)
	}
	ticket := jointoken.NewValidatedToken(client, func(context.Context) (jointoken.JoinToken, error) { return jointoken.ParseJoinToken(text) })
	if _, err := ticket.Code(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ticket
}

func TestJoin(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	withKubeadm(t, f, m, a)
	f.Put(t, kube.ClusterCA, a.CA())
	material, err := Material(m, section(t, `version: 1.36.3`))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := material.CAHash()
	if err != nil || len(hash) != len("sha256:")+64 || material.APIServer != "192.0.2.11:6443" {
		t.Errorf("got %+v, %s, %v", material, hash, err)
	}

	f, m = newFake(t)
	withKubeadm(t, f, m, a)
	const code = "abcdef.0123456789abcdef.abcdefghijklmnop"
	f.Put(t, jointoken.JoinConf, "the node's certificate")
	join, asked, seen := f.Answers["kubeadm join"], 0, ""
	f.Answers["kubeadm join --config /dev/stdin"] = func(c host.Cmd) ([]byte, error) {
		seen = read(t, c.Stdin)
		if left := f.Holding(t, "0123456789"); len(left) > 0 {
			t.Errorf("the files %v contain the code while kubeadm runs", left)
		}
		return join(c)
	}
	s := Join(m, section(t, `version: 1.36.3`), Node{Name: "w1", Address: "192.0.2.21"}, material, func(context.Context) (*jointoken.ValidatedToken, error) {
		asked++
		return ticketFor(t, a, code), nil
	})
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if !strings.Contains(seen, "kubeConfigPath: "+m.Path(jointoken.JoinConf)) || strings.Contains(seen, "0123456789") {
		t.Errorf("kubeadm read\n%s", seen)
	}
	if f.Has(jointoken.JoinConf) {
		t.Errorf("%s still exists after the join", jointoken.JoinConf)
	}
	if strings.Contains(strings.Join(f.Calls, " "), "0123456789") || len(f.Holding(t, "0123456789")) > 0 {
		t.Error("a file or an argument contains the code")
	}
	if a.Burnt != 1 {
		t.Errorf("the code was revoked %d times, want once", a.Burnt)
	}
	if err := s.Run(t.Context()); err != nil || asked != 1 {
		t.Errorf("got %v after %d requests for a code, want one request", err, asked)
	}
}

func read(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// TestJoinControlPlane: the keys are on the host when kubeadm runs. After the reset of an
// interrupted join the keys come with the new code.
func TestJoinControlPlane(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	withKubeadm(t, f, m, a)
	const text = "abcdef.0123456789abcdef.abcdefghijklmnop.abcdefghijklmnopqrstuvwxyz"
	ticket := ticketFor(t, a, text)
	keys := jointoken.ControlPlaneSecrets{}
	for _, name := range pki.ControlPlaneKeys() {
		keys[name] = []byte("key " + name)
	}
	keys[kube.ClusterCA] = []byte(a.CA())
	keys[encryption.EncryptionFile] = []byte("key2")
	f.Put(t, encryption.EncryptionFile, "key1") // of a join before the key was changed
	code, err := jointoken.ParseJoinToken(text)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := keys.Sealed(code)
	if err != nil {
		t.Fatal(err)
	}
	a.Secrets = sealed

	answer := f.Answers["kubeadm init"] // a control-plane host has the files of the first one
	died := errors.New("power failure")
	f.Answers["kubeadm join"] = func(c host.Cmd) ([]byte, error) {
		if !f.Has("/etc/kubernetes/pki/etcd/ca.key") || !strings.Contains(read(t, c.Stdin), "controlPlane:") {
			t.Error("kubeadm started without the keys, or as a worker")
		}
		if got := f.Get(encryption.EncryptionFile); got != "key2" {
			t.Errorf("got encryption key %s when kubeadm started, want key2", got)
		}
		return nil, died
	}
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { return nil, os.RemoveAll(m.Path("/etc/kubernetes/pki")) }
	s := Join(m, section(t, `version: 1.36.3`), Node{Name: "cp2", Address: "192.0.2.12", ControlPlane: true},
		jointoken.JoinMaterial{APIServer: a.Listener.Addr().String(), CA: a.CA()}, func(context.Context) (*jointoken.ValidatedToken, error) { return ticket, nil })
	if err := s.Run(t.Context()); !errors.Is(err, died) || a.Burnt != 0 {
		t.Fatalf("got %v, revoked %d times, want an error and 0 times", err, a.Burnt)
	}
	again := f.Answers["kubeadm join"]
	f.Answers["kubeadm join"] = func(c host.Cmd) ([]byte, error) { _, _ = again(c); return answer(c) }
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if f.Ran("kubeadm reset") != 1 || a.Burnt != 1 {
		t.Errorf("reset %d times, revoked %d times, want once", f.Ran("kubeadm reset"), a.Burnt)
	}
}

func TestJoinRefuses(t *testing.T) {
	a := kubetest.NewAPI(t)
	noTicket := errors.New("no such code")
	for name, tc := range map[string]struct {
		material jointoken.JoinMaterial
		node     Node
		ticket   error
		says     string
	}{
		"no ticket":                      {jointoken.JoinMaterial{CA: a.CA()}, Node{Name: "w1"}, noTicket, "no such code"},
		"a worker's code for a cp":       {jointoken.JoinMaterial{CA: a.CA()}, Node{Name: "cp2", ControlPlane: true}, nil, "the join token is a worker's"},
		"a parcel that is not for these": {jointoken.JoinMaterial{CA: a.CA()}, Node{Name: "cp3", ControlPlane: true}, nil, "airgap-parcel"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := newFake(t)
			text := "abcdef.0123456789abcdef.abcdefghijklmnop"
			if tc.node.Name == "cp3" {
				text += ".abcdefghijklmnopqrstuvwxyz"
			}
			s := Join(m, section(t, `version: 1.36.3`), tc.node, tc.material, func(context.Context) (*jointoken.ValidatedToken, error) { return ticketFor(t, a, text), tc.ticket })
			err := s.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "0123456789") || len(f.Calls) > 0 {
				t.Errorf("got %v, ran %v", err, f.Calls)
			}
		})
	}
}

// joinStep joins a worker with a code that the fake API server accepts.
func joinStep(t *testing.T, m Machine, a *kubetest.API) step.Step {
	t.Helper()
	return Join(m, section(t, `version: 1.36.3`), Node{Name: "w1", Address: "192.0.2.21"}, jointoken.JoinMaterial{CA: a.CA()}, func(context.Context) (*jointoken.ValidatedToken, error) {
		return ticketFor(t, a, "abcdef.0123456789abcdef.abcdefghijklmnop"), nil
	})
}

// TestJoinAfterAnInterruption: the step resets the interrupted join and waits until the cluster
// reports the old kubelet as not ready.
func TestJoinAfterAnInterruption(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	a.Ready = 2
	withKubeadm(t, f, m, a)
	f.Put(t, node.StateFile, "began\n")
	left := -1
	join := f.Answers["kubeadm join"]
	f.Answers["kubeadm join --config /dev/stdin"] = func(c host.Cmd) ([]byte, error) { left = a.Ready; return join(c) }
	s := joinStep(t, m, a)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left != 0 || f.Ran("kubeadm reset") != 1 {
		t.Errorf("kubeadm joined while the node was ready %d more times; ran %v", left, f.Calls)
	}
	hosttest.MustBeDone(t, s.Done, true)
}
