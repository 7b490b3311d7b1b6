package registry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/registry/ledger"
)

const pollInterval = 20 * time.Millisecond

// site is one registry host: its data and its address.
type site struct {
	*prepared

	users, pushed string
}

func newRegistryHost(t *testing.T) *site {
	t.Helper()
	s := &site{prepare(t), filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()}
	writeUser(t, s.users)
	return s
}

// follow starts the registry, which also copies from the others.
func (s *site) follow(t *testing.T, others ...*site) {
	t.Helper()
	o := Options{Pushed: s.pushed, Users: s.users, Every: pollInterval}
	for _, other := range others {
		o.Peers = append(o.Peers, other.peer(t))
	}
	s.start(t, o)
}

// restart returns the same host after a restart.
func (s *site) second(t *testing.T) *site {
	t.Helper()
	listener, err := net.Listen("tcp", s.addr)
	must(t, err)
	running := s.running
	return &site{&prepared{running, listener}, s.users, s.pushed}
}

// eventually retries f for 20 seconds.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for err := f(); err != nil; err = f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(pollInterval)
	}
}

func (s *site) has(t *testing.T, ref, want string) error {
	t.Helper()
	image, err := s.pull(t, ref)
	if err != nil {
		return err
	}
	if d := digestOf(t, image); d != want {
		return fmt.Errorf("%s is %s, want %s", ref, d, want)
	}
	return validate.Image(image)
}

func (s *site) hasNot(t *testing.T, ref string) error {
	t.Helper()
	if _, err := s.pull(t, ref); err == nil || !strings.Contains(err.Error(), "MANIFEST_UNKNOWN") {
		return fmt.Errorf("%s: %w", ref, err)
	}
	return nil
}

func TestPushesReachTheOthers(t *testing.T) {
	a, b, c := newRegistryHost(t), newRegistryHost(t), newRegistryHost(t)
	a.follow(t, b, c)
	b.follow(t, a, c)
	c.follow(t, a, b)
	image := bundletest.RandomImage(t, 300_000, 3, "amd64")
	index := bundletest.TwoPlatforms(t, image)
	must(t, remote.Write(a.ref(t, "team/app:1"), image, a.login()...))
	must(t, remote.WriteIndex(b.ref(t, "team/index:1"), index, b.login()...))
	for _, s := range []*site{a, b, c} {
		eventually(t, "image", func() error { return s.has(t, "team/app:1", digestOf(t, image)) })
		eventually(t, "image by digest", func() error { return s.has(t, "team/app@"+digestOf(t, image), digestOf(t, image)) })
		eventually(t, "index", func() error {
			got, err := remote.Index(s.ref(t, "team/index:1"), s.login()...)
			if err != nil {
				return err
			}
			return validate.Index(got)
		})
	}
	next := bundletest.RandomImage(t, 1000, 1, "amd64")
	must(t, remote.Write(c.ref(t, "team/app:1"), next, c.login()...))
	for _, s := range []*site{a, b, c} {
		eventually(t, "the tag that moved", func() error { return s.has(t, "team/app:1", digestOf(t, next)) })
	}
	must(t, remote.Delete(b.ref(t, "team/app:1"), b.login()...))
	must(t, remote.Delete(b.ref(t, "team/app@"+digestOf(t, image)), b.login()...))
	for _, s := range []*site{a, b, c} {
		eventually(t, "the deleted tag", func() error { return s.hasNot(t, "team/app:1") })
		eventually(t, "the deleted manifest", func() error { return s.hasNot(t, "team/app@"+digestOf(t, image)) })
		must(t, s.has(t, "team/app@"+digestOf(t, next), digestOf(t, next)))
	}
	must(t, remote.Write(a.ref(t, "team/app:1"), image, a.login()...))
	for _, s := range []*site{a, b, c} {
		eventually(t, "pushed again", func() error { return s.has(t, "team/app:1", digestOf(t, image)) })
	}
}

// TestAwayAndBack: a host that was off catches up, and reports its lag.
func TestAwayAndBack(t *testing.T) {
	a, b := newRegistryHost(t), newRegistryHost(t)
	image := bundletest.RandomImage(t, 10_000, 2, "amd64")
	lagOf := func(s *site, of *site) Lag {
		t.Helper()
		health, err := s.peer(t).Health(context.Background())
		must(t, err)
		for _, l := range health.Lags {
			if l.Peer == of.addr {
				return l
			}
		}
		t.Fatalf("no lag behind %s: %+v", of.addr, health)
		return Lag{}
	}
	t.Run("one host", func(t *testing.T) {
		a.follow(t, b)
		must(t, b.listener.Close())
		must(t, remote.Write(a.ref(t, "team/app:1"), image, a.login()...))
		eventually(t, "the error", func() error {
			if l := lagOf(a, b); l.Error == "" || !l.Asked.IsZero() {
				return fmt.Errorf("%+v", l)
			}
			return nil
		})
	})
	t.Run("both hosts", func(t *testing.T) {
		a, b := a.second(t), b.second(t)
		a.follow(t, b)
		b.follow(t, a)
		eventually(t, "caught up", func() error { return b.has(t, "team/app:1", digestOf(t, image)) })
		eventually(t, "no lag", func() error {
			if l := lagOf(b, a); l.Behind != 0 || l.Error != "" || l.Asked.IsZero() {
				return fmt.Errorf("%+v", l)
			}
			return nil
		})
	})
	t.Run("a layer that is damaged on its source", func(t *testing.T) {
		a, b := a.second(t), b.second(t)
		other := bundletest.RandomImage(t, 1<<20, 1, "amd64")
		layer, _ := firstLayer(t, other)
		a.follow(t)
		must(t, remote.Write(a.ref(t, "team/other:1"), other, a.login()...))
		file := filepath.Join(a.pushed, engineRoot, "blobs/sha256", layer[7:9], layer[7:], "data")
		content, err := os.ReadFile(file)
		must(t, err)
		content[0] ^= 1
		must(t, os.WriteFile(file, content, 0o600))
		b.follow(t, a)
		eventually(t, "behind by a manifest and its tag", func() error {
			if l := lagOf(b, a); l.Behind != 2 || l.Since.IsZero() || !strings.Contains(l.Error, layer) {
				return fmt.Errorf("%+v", l)
			}
			return nil
		})
	})
}

// TestLedgerAfterACrash: after a crash or a loss of files, the registry restores its ledger from the
// engine's files at the next start. The other host sends missing images again.
func TestLedgerAfterACrash(t *testing.T) {
	a, b := newRegistryHost(t), newRegistryHost(t)
	image := bundletest.RandomImage(t, 10_000, 2, "amd64")
	t.Run("push", func(t *testing.T) {
		a.follow(t)
		must(t, remote.Write(a.ref(t, "team/app:1"), image, a.login()...))
	})
	must(t, os.Remove(filepath.Join(a.pushed, ledger.File)))
	t.Run("the ledger is missing", func(t *testing.T) {
		a := a.second(t)
		a.follow(t)
		b.follow(t, a)
		eventually(t, "copied", func() error { return b.has(t, "team/app:1", digestOf(t, image)) })
	})
	must(t, os.RemoveAll(filepath.Join(a.pushed, "docker")))
	t.Run("the files are missing", func(t *testing.T) {
		a, b := a.second(t), b.second(t)
		b.follow(t)
		a.follow(t, b)
		eventually(t, "restored", func() error { return a.has(t, "team/app:1", digestOf(t, image)) })
	})
	must(t, os.WriteFile(filepath.Join(a.pushed, ledger.File), []byte("{"), 0o600))
	link := filepath.Join(b.pushed, engineRoot, "repositories/team/app", tagPath("1"))
	must(t, os.WriteFile(link, nil, 0o600))
	t.Run("the ledger and a link are damaged", func(t *testing.T) {
		a, b := a.second(t), b.second(t)
		a.follow(t)
		must(t, a.has(t, "team/app:1", digestOf(t, image)))
		b.follow(t, a)
		eventually(t, "restored", func() error { return b.has(t, "team/app:1", digestOf(t, image)) })
	})
}

func TestPushedIsAskedForOnce(t *testing.T) {
	a := newRegistryHost(t)
	a.follow(t)
	if none, _, err := a.peer(t).Pushed(t.Context(), ""); err != nil || none.Count() != 0 {
		t.Errorf("before the first push: %v, %v", none, err)
	}
	if files, err := os.ReadDir(a.pushed); err != nil || len(files) != 0 {
		t.Errorf("files before the first push: %v, %v", files, err)
	}
	must(t, remote.Write(a.ref(t, "team/app:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), a.login()...))
	records, tag, err := a.peer(t).Pushed(t.Context(), "")
	if err != nil || records.Count() != 2 {
		t.Fatalf("%v, %v", records, err)
	}
	if second, same, err := a.peer(t).Pushed(t.Context(), tag); err != nil || second != nil || same != tag {
		t.Errorf("%v, %s, %v", second, same, err)
	}
	resp, body, err := a.get(t, http.MethodPost, "/pushed")
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%s, %v: %s", resp.Status, err, body)
	}
}
