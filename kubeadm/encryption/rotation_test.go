package encryption

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/phases"
)

// errCut is the kill -9 of a rotation.
var errCut = errors.New("cut")

// keyCluster is a cluster of one API server, which checks at each question
// that no Secret is encrypted by a key that the server does not know. It cuts
// the rotation at the question number cut.
type keyCluster struct {
	t         *testing.T
	f         *hosttest.Fake
	hosts     []string
	loaded    keyring
	secrets   []string // the prefixes in etcd
	questions int
	cut       int
	kill      context.CancelFunc // ends the run at the cut
	revoked   int                // how often codes were
	late      bool               // a Secret stays as it was
}

func (c *keyCluster) question() error {
	c.t.Helper()
	for _, s := range c.secrets {
		known := false
		for _, k := range c.loaded {
			known = known || k.prefix() == s
		}
		if !known {
			c.t.Fatalf("a Secret is encrypted by %s, and the API server knows %v", s, c.loaded)
		}
	}
	if c.questions++; c.questions == c.cut {
		c.kill()
		return errCut
	}
	return nil
}

func (c *keyCluster) Exchange(string) phases.Coordinator {
	return phases.Coordinator{Client: fake.NewClientset(), Name: RotationName}
}

func (c *keyCluster) Revoke(context.Context) (int, error) { c.revoked++; return 0, nil }

func (c *keyCluster) Hosts(context.Context) ([]string, error) { return c.hosts, nil }

func (c *keyCluster) Loaded(_ context.Context, hash string) error {
	if err := c.question(); err != nil {
		return err
	}
	text := c.f.Get(EncryptionFile)
	if fileHash([]byte(text)) != hash {
		c.t.Fatal("asked for a file that is not there")
	}
	ring, err := parseKeyring([]byte(text))
	if err != nil {
		c.t.Fatal(err)
	}
	c.loaded = ring
	return c.question()
}

func (c *keyCluster) Rewrite(_ context.Context, done func(int)) (int, error) {
	for i := range c.secrets {
		if err := c.question(); err != nil {
			return i, err
		}
		if !c.late || i > 0 {
			c.secrets[i] = c.loaded[0].prefix()
		}
		done(i + 1)
	}
	return len(c.secrets), c.question()
}

func (c *keyCluster) Others(_ context.Context, prefix string) (int, error) {
	n := 0
	for _, s := range c.secrets {
		if s != prefix {
			n++
		}
	}
	return n, c.question()
}

func rotating(t *testing.T) (*keyCluster, Rotation) {
	f, m := hosttest.New(t)
	if err := Encryption(m, Secretbox, nil).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	ring, err := readKeyring(m)
	if err != nil {
		t.Fatal(err)
	}
	c := &keyCluster{t: t, f: f, hosts: []string{"cp1"}, loaded: ring, secrets: []string{ring[0].prefix(), ring[0].prefix(), ring[0].prefix()}}
	return c, Rotation{Machine: m, Node: "cp1", Provider: Secretbox, Cluster: c, Say: t.Logf}
}

// TestRotationGoesOn cuts a rotation at every question that it asks, which is
// before, in and after each of its phases, and runs it again.
func TestRotationGoesOn(t *testing.T) {
	cuts := 0
	for at := 1; ; at++ {
		c, r := rotating(t)
		ctx, kill := context.WithCancel(t.Context())
		c.cut, c.kill = at, kill
		first := c.secrets[0]
		done, err := r.Run(ctx)
		kill()
		if err != nil {
			cuts++
			if done, err = r.Run(t.Context()); err != nil || !done.Resumed {
				t.Fatalf("cut at %d, and run again: %v, %+v", at, err, done)
			}
		}
		ring, ringErr := readKeyring(r.Machine)
		if ringErr != nil || len(ring) != 1 || ring[0].name != "key2" || done.Key != "key2" {
			t.Fatalf("cut at %d: %v of %+v, keys %v", at, ringErr, done, ring)
		}
		for _, s := range c.secrets {
			if s != ring[0].prefix() || s == first {
				t.Errorf("cut at %d: a Secret is still of %s", at, s)
			}
		}
		if c.revoked < 2 {
			t.Errorf("cut at %d: codes with the old key are still good", at)
		}
		if c.f.Has(rotationFile) {
			t.Errorf("cut at %d: the rotation is still in progress", at)
		}
		if c.questions < at {
			break
		}
	}
	if cuts < 10 {
		t.Errorf("only %d cuts: the test tests little", cuts)
	}
}

// TestRotationThatOnlyEnds begins on a host that was interrupted in an earlier
// rotation when the old key was gone: it followed, and the others ended it.
func TestRotationThatOnlyEnds(t *testing.T) {
	c, r := rotating(t)
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.f.Put(t, rotationFile, `{"to":"key2"}`)
	for _, want := range []Rotated{{Key: "key2", Resumed: true}, {Key: "key3", Secrets: 3, Changed: true}} {
		if done, err := r.Run(t.Context()); err != nil || done != want {
			t.Errorf("got %+v, %v; want %+v", done, err, want)
		}
	}
}

func TestRotationKeepsTheOldKey(t *testing.T) {
	c, r := rotating(t)
	c.late = true
	_, err := r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 Secrets in etcd are not encrypted by key2") {
		t.Fatalf("got %v", err)
	}
	if ring, err := readKeyring(r.Machine); err != nil || len(ring) != 2 || ring[0].name != "key2" {
		t.Errorf("keys are %v (%v): the old one has to stay", ring, err)
	}
}

func TestRotationToAnotherProvider(t *testing.T) {
	c, r := rotating(t)
	r.Provider = AESCBC
	if _, err := r.Run(t.Context()); err != nil || c.secrets[0] != "k8s:enc:aescbc:v1:key2:" {
		t.Errorf("got %v, Secrets are of %s", err, c.secrets[0])
	}
}

func TestLoadedHash(t *testing.T) {
	const metrics = "# TYPE apiserver_encryption_config_controller_last_config_info gauge\n" +
		"apiserver_encryption_config_controller_last_config_info{apiserver_id_hash=\"sha256:14f9\",hash=\"sha256:2a66\"} 1\nup 1\n"
	if hash, err := loadedHash([]byte(metrics)); err != nil || hash != "sha256:2a66" {
		t.Errorf("got %q, %v", hash, err)
	}
	if _, err := loadedHash([]byte("up 1\n")); err == nil {
		t.Error("a server that does not tell has loaded the keys")
	}
}
