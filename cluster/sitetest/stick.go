package sitetest

import (
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// StickOf returns a bundle with the files on a faulty USB drive: a read returns wrong bytes if lies returns true.
func StickOf(t *testing.T, files map[string][]byte, lies func(name string, nth int) bool) *bundle.View {
	t.Helper()
	f := bundletest.NewWithFiles(t, "test", files)
	b, err := bundle.OpenFS(&bundletest.Fickle{Dir: f.Dir, Lies: lies}, "the stick", &f.Key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	v := bundle.NewView(b)
	t.Cleanup(func() { v.Close() })
	return v
}
