package encryption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/phases"
	"airgap.dev/airgap/verify/apitest"
)

// hosts are three control-plane hosts of one cluster with an exchange
// through a real API server. Each host's own server has always loaded its file.
type hosts struct {
	t        *testing.T
	client   kubernetes.Interface
	machines map[string]*hosttest.Fake
	mu       sync.Mutex
	seen     []string // the arrangements in which all hosts agreed
}

func (h *hosts) Exchange(node string) phases.Coordinator {
	return phases.Coordinator{Client: h.client, Node: node, Name: RotationName}
}

func (h *hosts) Hosts(context.Context) ([]string, error) { return []string{"cp1", "cp2", "cp3"}, nil }

func (h *hosts) Revoke(context.Context) (int, error) { return 0, nil }

func (h *hosts) Rewrite(context.Context, func(int)) (int, error) { return 7, nil }

func (h *hosts) Others(context.Context, string) (int, error) { return 0, nil }

func (h *hosts) Loaded(_ context.Context, hash string) error {
	for name, f := range h.machines {
		if fileHash([]byte(f.Get(EncryptionFile))) != hash {
			return errors.New(name + " has not")
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ring, err := parseKeyring([]byte(h.machines["cp1"].Get(EncryptionFile)))
	names := ""
	for _, k := range ring {
		names += k.name
	}
	h.seen = append(h.seen, names)
	return err
}

func (h *hosts) rotation(node string) Rotation {
	m := host.Machine{Host: h.machines[node], Root: h.machines[node].Root}
	return Rotation{Machine: m, Node: node, Provider: Secretbox, Cluster: h, Say: func(format string, args ...any) { h.t.Logf(node+": "+format, args...) }}
}

// TestRotationOfSeveralHosts rotates on three hosts. One of them is killed in
// the middle and follows again.
func TestRotationOfSeveralHosts(t *testing.T) {
	server := apitest.Start(t)
	h := &hosts{t: t, client: server.Client(t), machines: map[string]*hosttest.Fake{}}
	text, err := FirstKeys(Secretbox)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"cp1", "cp2", "cp3"} {
		h.machines[node], _ = hosttest.New(t)
		h.machines[node].Put(t, EncryptionFile, string(text))
	}
	ends := make(chan error, 3)
	run := func(ctx context.Context, node, leader string) {
		done, err := h.rotation(node).Run(ctx)
		if err == nil && (done.Leader != leader || done.Key != "key2" || !done.Changed) {
			err = fmt.Errorf("%s ended with %+v", node, done)
		}
		ends <- err
	}
	go run(t.Context(), "cp1", "")
	h.await("cp1 leads", func() bool { return h.minutes() != nil && h.minutes().Phase() == added })
	ctx, kill := context.WithCancel(t.Context())
	go run(ctx, "cp2", "cp1")
	h.await("cp2 has the key", func() bool { return bytes.Contains([]byte(h.machines["cp2"].Get(EncryptionFile)), []byte("key2")) })
	kill()
	if err := <-ends; !errors.Is(err, context.Canceled) {
		t.Fatalf("the killed one: %v", err)
	}
	if h.machines["cp3"].Get(EncryptionFile) != string(text) || len(h.seen) > 0 {
		t.Fatal("it went on without the third host")
	}
	h.holdsNoKey()
	go run(t.Context(), "cp2", "cp1")
	go run(t.Context(), "cp3", "cp1")
	for range 3 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if want := "[key1key2 key2key1 key2]"; fmt.Sprint(h.seen) != want {
		t.Errorf("all agreed on %v, want %s", h.seen, want)
	}
	for node, f := range h.machines {
		if f.Get(EncryptionFile) != h.machines["cp1"].Get(EncryptionFile) || f.Has(rotationFile) {
			t.Errorf("%s is not done", node)
		}
	}
	if h.minutes() != nil {
		t.Error("the exchange stayed open")
	}
}

func (h *hosts) minutes() *phases.State {
	m, err := h.Exchange("cp1").Read(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

func (h *hosts) await(what string, holds func() bool) {
	h.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			h.t.Fatalf("%s: not within a minute", what)
		}
	}
}

// holdsNoKey looks for the new key in the API server's data.
func (h *hosts) holdsNoKey() {
	h.t.Helper()
	ring, err := parseKeyring([]byte(h.machines["cp1"].Get(EncryptionFile)))
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.client.CoreV1().Secrets(metav1.NamespaceSystem).Get(h.t.Context(), RotationName, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	all, err := json.Marshal(s)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, k := range ring {
		for _, value := range s.Data {
			if bytes.Contains(all, []byte(k.secret)) || bytes.Contains(value, []byte(k.secret)) {
				h.t.Errorf("%s is in the open", k.name)
			}
		}
	}
}

func TestSealedKey(t *testing.T) {
	k := keyring{}.newKey(AESCBC)
	secret, err := k.sealable()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keyFrom(secret, "key1"); err != nil || got != k {
		t.Errorf("got %v, %v", got.name, err)
	}
	if _, err := keyFrom(secret, "key9"); err == nil {
		t.Error("took a key of another name")
	}
}
