package export

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// aKey is one key for all tests: its generation takes seconds.
var aKey = sync.OnceValues(func() (*rpm.Key, error) { return rpm.NewKey(time.Unix(1_600_000_000, 0)) })

// packed is a bundle with two real packages: kubelet requires helper.
type packed struct{ dir, key, rpmKey string }

func newPacked(t *testing.T) packed {
	t.Helper()
	bundletest.Need(t, "createrepo_c")
	key, err := aKey()
	require.NoError(t, err)
	dir := t.TempDir()
	for name, requires := range map[string][]string{"kubelet": {"helper"}, "helper": nil} {
		var file bytes.Buffer
		require.NoError(t, rpm.BuildPackage(&file, rpm.Spec{Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "x", Requires: requires,
			Time: time.Unix(1_700_000_000, 0), Files: []rpm.File{{Path: "/opt/" + name, Data: []byte(name), Mode: 0o644}}}, key))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+"-1.0-1.x86_64.rpm"), file.Bytes(), 0o644))
	}
	public, err := key.Public()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.asc"), public, 0o644))
	out, err := exec.Command("createrepo_c", "--quiet", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)

	server := httptest.NewTLSServer(http.StripPrefix("/pkgs.example", http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644))
	client, err := fetch.NewClient(fetch.Sources{CA: ca, Rewrite: []fetch.Rewrite{{From: "*", To: strings.TrimPrefix(server.URL, "https://")}}})
	require.NoError(t, err)
	p, err := bundle.NewPlan(t.Context(), client, bundle.Request{Name: "bank", Config: []byte("kind: Cluster\n"), Platform: "linux/amd64", Created: time.Unix(1_700_000_000, 0),
		Packages: &rpm.Request{OS: "el9", Arch: "x86_64", Install: []string{"kubelet"},
			Repositories: []rpm.Repository{{Name: "vendor", BaseURL: "https://pkgs.example", GPGKeys: []string{"https://pkgs.example/key.asc"}}}}}, ui.Discard())
	require.NoError(t, err)
	require.NoError(t, p.SignPackages(key))
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), "bank")
	_, err = bundle.Write(t.Context(), p, to, bundle.Options{Signer: signer}, ui.Discard())
	require.NoError(t, err)
	return packed{to, bundle.Fingerprint(&signer.PublicKey), key.Keyring().Fingerprints()[0]}
}

func (p packed) options(to string) Options {
	return Options{Dir: p.dir, Keys: []string{p.key}, To: to, Progress: ui.Discard()}
}

// TestRPMs: the real dnf installs from the exported repository with its .repo file, and
// verifies metadata and packages.
func TestRPMs(t *testing.T) {
	bundletest.Need(t, "dnf", "rpm")
	p, to := newPacked(t), filepath.Join(t.TempDir(), "with space", "repo")
	r, err := RPMs(t.Context(), p.options(to))
	require.NoError(t, err)
	require.Len(t, r.Repositories, 1)
	one := r.Repositories[0]
	assert.Equal(t, []any{"el9", 2, one.Size, p.rpmKey}, []any{one.OS, one.Packages, one.Written, one.Key})
	text := new(strings.Builder)
	require.NoError(t, r.Write(text))
	assert.Contains(t, text.String(), "2 packages")

	home, root := t.TempDir(), t.TempDir()
	repo, err := os.ReadFile(one.RepoFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "airgap.repo"), repo, 0o644))
	config := "[main]\nplugins=0\ninstall_weak_deps=0\nreposdir=" + home + "\ncachedir=" + home + "/cache\nlogdir=" + home + "\npersistdir=" + home + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, "dnf.conf"), []byte(config), 0o644))
	dnf := exec.Command("dnf", "--config", filepath.Join(home, "dnf.conf"), "--installroot", root, "--releasever", "9", "--forcearch", "x86_64", "-y", "install", "kubelet")
	out, err := dnf.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"kubelet", "helper"} {
		assert.FileExists(t, filepath.Join(root, "opt", name), "%s", out)
	}

	metadata := filepath.Join(one.Dir, "repodata/repomd.xml")
	before, err := os.ReadFile(metadata)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(metadata, append(before, '\n'), 0o644))
	dnf = exec.Command("dnf", "--config", filepath.Join(home, "dnf.conf"), "--installroot", t.TempDir(), "--releasever", "9", "--forcearch", "x86_64", "-y", "--refresh", "install", "kubelet")
	out, err = dnf.CombinedOutput()
	assert.Error(t, err, "dnf accepted changed metadata: %s", out)
}

// TestResume: a second export writes only missing and wrong files, and lists the files of an
// earlier bundle.
func TestResume(t *testing.T) {
	p, to := newPacked(t), t.TempDir()
	o := p.options(to)
	r, err := RPMs(t.Context(), o)
	require.NoError(t, err)
	size, dir := r.Repositories[0].Size, r.Repositories[0].Dir
	r, err = RPMs(t.Context(), o)
	require.NoError(t, err)
	assert.Zero(t, r.Repositories[0].Written)

	kubelet, helper := filepath.Join(dir, "Packages/kubelet-1.0-1.x86_64.rpm"), filepath.Join(dir, "Packages/helper-1.0-1.x86_64.rpm")
	good, err := os.ReadFile(kubelet)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(kubelet, bytes.Repeat([]byte("x"), len(good)), 0o644)) // the same size
	require.NoError(t, os.Remove(helper))
	require.NoError(t, os.WriteFile(helper+".tmp", []byte("interrupted"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Packages/old-1.rpm"), nil, 0o644))
	r, err = RPMs(t.Context(), o)
	require.NoError(t, err)
	one := r.Repositories[0]
	assert.True(t, one.Written > 0 && one.Written < size, "%d of %d", one.Written, size)
	assert.Equal(t, []string{"Packages/old-1.rpm"}, one.Others)
	again, err := os.ReadFile(kubelet)
	require.NoError(t, err)
	assert.Equal(t, good, again)

	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, os.Remove(kubelet))
	_, err = RPMs(stopped, o)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, advice.Of(err), "keeps the complete files")
}

// TestRefuse: wrong input and a damaged bundle change no complete repository.
func TestRefuse(t *testing.T) {
	p := newPacked(t)
	o := p.options(filepath.Join(t.TempDir(), "repo"))
	for _, bad := range []string{"repo.bank.example/airgap", "https://u:p@repo.bank.example/", "ftp://repo.bank.example/", "https://repo.bank.example/?x=1"} {
		o.URL = bad
		_, err := RPMs(t.Context(), o)
		assert.True(t, advice.IsUsage(err), "%s: %v", bad, err)
		assert.NoDirExists(t, o.To)
	}
	o.URL = "https://repo.bank.example/airgap/"
	r, err := RPMs(t.Context(), o)
	require.NoError(t, err)
	text, err := os.ReadFile(r.Repositories[0].RepoFile)
	require.NoError(t, err)
	assert.Contains(t, string(text), "baseurl=https://repo.bank.example/airgap/el9/\n")
	assert.Contains(t, string(text), "gpgkey=https://repo.bank.example/airgap/el9/keys/RPM-GPG-KEY-airgap\n       https://repo.bank.example/airgap/el9/keys/vendor-1.asc\n")

	part := filepath.Join(p.dir, "bundle.tar.000")
	data, err := os.ReadFile(part)
	require.NoError(t, err)
	at := bytes.Index(data, []byte{0xed, 0xab, 0xee, 0xdb}) // the first package
	data[at+200] ^= 1
	require.NoError(t, os.WriteFile(part, data, 0o644))
	fresh := p.options(t.TempDir())
	_, err = RPMs(t.Context(), fresh)
	require.ErrorIs(t, err, bundle.ErrDamaged)
	assert.NoFileExists(t, filepath.Join(fresh.To, "el9/repodata/repomd.xml"))

	other := bundletest.New(t)
	_, err = RPMs(t.Context(), Options{Dir: other.Dir, Keys: []string{p.key}, To: t.TempDir(), Progress: ui.Discard()})
	require.ErrorContains(t, err, "the bundle must be signed with key "+p.key)
}
