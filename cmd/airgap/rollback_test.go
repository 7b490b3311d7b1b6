package main

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// TestForgetBundle: the new bundle leaves the store, and never the one to go back to.
func TestForgetBundle(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey}
	store := registry.Store{Dir: t.TempDir()}
	if _, err := store.Import(t.Context(), b, ui.Discard(), keys...); err != nil {
		t.Fatal(err)
	}
	for from, forgets := range map[string]bool{"another": true, b.ID(): false} {
		r := &rollback{upgrade: upgrade{site: &site{store: store}, trusted: keys, record: upgradeRecord{From: bundleRef{ID: from}, To: bundleRef{ID: b.ID()}}}}
		if done, err := r.forgetBundleStep().Done(t.Context()); err != nil || done == forgets {
			t.Errorf("from %s: it is forgotten: %t, %v", from, done, err)
		}
	}
}

// TestStandDownIsAsked: on another control-plane host rollback takes that one out of the
// cluster, which nobody does by a mistaken host.
func TestStandDownIsAsked(t *testing.T) {
	var stderr bytes.Buffer
	c := docsConfig(t, "")
	r := &rollback{upgrade: upgrade{app: &app{stdin: strings.NewReader("yes\n"), stderr: &stderr}, site: &site{config: c, node: c.Nodes[1]}}}
	err := r.confirmStandDown(t.Context(), c.Nodes[0].Name)
	if failed, is := errors.AsType[*coded](err); !is || failed.code != exitUsage || !strings.Contains(stderr.String(), "begins on cp1") || !strings.Contains(stderr.String(), "takes cp2 out") {
		t.Errorf("nobody is there: %v, %q", err, stderr.String())
	}
	r.yes = true
	if err := r.confirmStandDown(t.Context(), c.Nodes[0].Name); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	r.yes, r.site.node = false, config.Node{Name: "w1", Roles: []config.Role{config.Worker}}
	if err := r.confirmStandDown(t.Context(), c.Nodes[0].Name); err != nil {
		t.Errorf("a worker, which is refused without a question: %v", err)
	}
}
