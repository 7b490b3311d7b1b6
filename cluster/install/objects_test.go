package install

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/sitetest"
)

// TestFilesOfAFickleStick: NVIDIA's installer, manifests and keys come whole or not.
func TestFilesOfAFickleStick(t *testing.T) {
	manifest := []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
	on := false
	v := sitetest.StickOf(t, map[string][]byte{"driver.run": bytes.Repeat([]byte("#!/bin/sh\n"), 300_000), "manifest.yaml": manifest}, func(string, int) bool { return on })
	entry, _ := v.Top().Index().Find("files/manifest.yaml")
	addon := bundle.Addon{Name: "a", Path: entry.Path, Size: entry.Size, SHA256: entry.SHA256}
	uses := map[string]func(context.Context) error{
		"installer": func(ctx context.Context) error {
			r, err := nodesteps.FromView(v)(ctx, "files/driver.run")
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		},
		"manifest": func(ctx context.Context) error {
			objects, err := objects(ctx, nodesteps.FromView(v), addon)
			if err == nil && len(objects) != 1 {
				t.Errorf("%d objects", len(objects))
			}
			return err
		},
		"keys": func(ctx context.Context) error {
			_, err := nodesteps.FromView(v).All(ctx, v.Top().Index(), "rpm/el9")
			return err
		},
		"public key": func(context.Context) error { _, err := join.SignedFiles(v.Top()); return err },
	}
	for name, use := range uses {
		if err := use(t.Context()); err != nil {
			t.Errorf("%s, before: %v", name, err)
		}
	}
	on = true
	for name, use := range uses {
		if err := use(t.Context()); !errors.Is(err, bundle.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
