package store

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// pair is a bundle of a site where two persons sign.
type pair struct {
	*bundletest.Fixture

	second *ecdsa.PrivateKey
}

func newPair(t *testing.T, f *bundletest.Fixture) pair {
	t.Helper()
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return pair{f, second}
}

func (p pair) keys() []*ecdsa.PublicKey {
	return []*ecdsa.PublicKey{&p.Key.PublicKey, &p.second.PublicKey}
}

// rule are the values of --require-key and --require-keys 2.
func (p pair) rule() []string {
	return []string{bundle.Fingerprint(p.keys()[0]), bundle.Fingerprint(p.keys()[1]), site.RequireKeys(2)}
}

func (p pair) cosign(t *testing.T) {
	t.Helper()
	_, err := p.Open(t).Cosign(p.second)
	require.NoError(t, err)
}

// medium has the index with its signatures, and some parts.
func (p pair) medium(t *testing.T, parts ...bundle.Part) string {
	t.Helper()
	dir, names := t.TempDir(), append(bundle.IndexFiles(), bundle.OptionalIndexFiles()...)
	for _, part := range parts {
		names = append(names, part.Name)
	}
	for _, name := range names {
		err := os.Link(filepath.Join(p.Dir, name), filepath.Join(dir, name))
		if !slices.Contains(bundle.OptionalIndexFiles(), name) {
			require.NoError(t, err)
		}
	}
	return dir
}

// signers counts the persons who signed the only bundle of a store.
func (p pair) signers(t *testing.T, dir string) int {
	t.Helper()
	all, err := registry.Store{Dir: dir}.Open(p.keys()...)
	require.NoError(t, err)
	require.Len(t, all, 1)
	defer bundle.NewView(all...).Close()
	return len(all[0].Signers(p.keys()...))
}

func quiet() *ui.Terminal { return &ui.Terminal{In: strings.NewReader(""), Err: io.Discard} }

// TestSetOfTwoPersons: a set that one person signed is refused when it is complete. Its parts stay, and a medium with
// only the second signature completes it.
func TestSetOfTwoPersons(t *testing.T) {
	p := newPair(t, bundletest.New(t))
	all, dir := p.Open(t).Index().Parts, t.TempDir()
	add := func(medium string) (string, error) {
		list, err := Import(t.Context(), ImportOptions{Place: Place{Dir: dir, Keys: p.rule()}, Bundle: medium, Set: true, Console: quiet()})
		var out strings.Builder
		require.NoError(t, list.Write(&out))
		return out.String(), err
	}
	_, err := add(p.medium(t, all[0]))
	require.NoError(t, err)
	_, err = add(p.medium(t, all[1:]...))
	require.ErrorContains(t, err, "accept bundle test: 1 of the trusted keys signed it, but 2 must")
	assert.Contains(t, advice.Of(err), "airgap sign DIR")
	assert.Contains(t, advice.Of(err), "the parts stay in the store")
	assert.Empty(t, Names(dir), "it is not served")

	p.cosign(t)
	said, err := add(p.medium(t))
	require.NoError(t, err)
	assert.Contains(t, said, "test is in the store")
	assert.Equal(t, 2, p.signers(t, dir))
}

// TestSignatureOnTheFirstMedium: the second signature is only on one of the media, and not on the last one.
func TestSignatureOnTheFirstMedium(t *testing.T) {
	p := newPair(t, bundletest.New(t))
	all, dir := p.Open(t).Index().Parts, t.TempDir()
	last := p.medium(t, all[1:]...)
	p.cosign(t)
	for _, medium := range []string{p.medium(t, all[0]), last} {
		_, err := Import(t.Context(), ImportOptions{Place: Place{Dir: dir, Keys: p.rule()}, Bundle: medium, Set: true, Console: quiet()})
		require.NoError(t, err)
	}
	assert.Equal(t, 2, p.signers(t, dir))
}

// TestSignatureForTheStore: the bundle is in the store with one signature. Each way of import adds the second one.
func TestSignatureForTheStore(t *testing.T) {
	for _, set := range []bool{true, false} {
		p := newPair(t, bundletest.New(t))
		dir := t.TempDir()
		o := ImportOptions{Place: Place{Dir: dir, Keys: p.rule()[:1]}, Bundle: p.Dir, Console: quiet()}
		_, err := Import(t.Context(), o)
		require.NoError(t, err)
		o.Keys, o.Set = p.rule(), set
		_, err = Import(t.Context(), o)
		require.ErrorContains(t, err, "1 of the trusted keys signed it, but 2 must")
		p.cosign(t)
		list, err := Import(t.Context(), o)
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, list.Write(&out))
		assert.Equal(t, "test is in the store already; its copy has more signatures now\n", out.String())
		assert.Equal(t, 2, p.signers(t, dir))
	}
}

// served starts the registry of another host with these bundles.
func served(t *testing.T, bundles ...*bundle.Bundle) (addr, pki string) {
	t.Helper()
	p := trust.PKI{Dir: t.TempDir()}
	require.NoError(t, p.Ensure(nil, time.Now()))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		o := registry.Options{Bundles: bundles, Log: slog.New(slog.DiscardHandler)}
		stopped <- registry.Serve(ctx, registry.ServeOptions{Options: o, Listener: listener, Certificate: p.CertificateFile(), Key: p.KeyFile()})
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-stopped)
	})
	return listener.Addr().String(), p.Dir
}

// TestBundleOfAnotherRegistry: a bundle from another registry needs two signatures too, also if it is the base of a delta
// that has both.
func TestBundleOfAnotherRegistry(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	p := newPair(t, base)
	whole := pair{delta, p.second}
	whole.cosign(t)
	fetch := func(name, dir string) error {
		addr, pki := served(t, p.Open(t), whole.Open(t))
		keys := append([]string{filepath.Join(base.Dir, bundle.PublicKeyName)}, p.rule()[1:]...) // the second key comes with the bundle
		_, err := Import(t.Context(), ImportOptions{Place: Place{Dir: dir, Keys: keys}, Bundle: name, From: addr, PKI: pki, Console: quiet()})
		return err
	}
	base1 := p.Open(t).Index().Name
	for _, name := range []string{base1, delta.Open(t).Index().Name, ""} {
		dir := t.TempDir()
		err := fetch(name, dir)
		require.ErrorContains(t, err, "accept bundle "+base1+": 1 of the trusted keys signed it, but 2 must")
		assert.Contains(t, advice.Of(err), "airgap sign DIR")
		assert.Empty(t, Names(dir), "nothing is served")
	}
	p.cosign(t)
	dir := t.TempDir()
	require.NoError(t, fetch("", dir))
	assert.Len(t, Names(dir), 2)
	opened, err := registry.Store{Dir: dir}.Open(&p.second.PublicKey)
	require.NoError(t, err)
	defer bundle.NewView(opened...).Close()
	assert.Len(t, opened, 2, "the copies have the second signature")
}
