package exampletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
)

// deliver lets clients fetch everything that a lock has: packages, files and the layers of images.
func (u *upstream) deliver(t testing.TB, lock bundle.Lock) {
	t.Helper()
	wanted := map[string]bool{}
	for _, p := range lock.Packages {
		wanted[p.NEVRA.String()] = true
	}
	repositories, err := filepath.Glob(filepath.Join(recordedDir, "rpm/*.txt"))
	must(t, err)
	for _, file := range repositories {
		r := readRecorded(t, file)
		for i := range r.packages {
			p := &r.packages[i]
			is := wanted[p.String()]
			p.Epoch = 0 // rpm.Spec has none; what the package provides keeps it
			if !is {
				continue
			}
			var data bytes.Buffer
			must(t, rpm.BuildPackage(&data, rpm.Spec{Name: p.Name, Version: p.Version, Release: p.Release, Arch: p.Arch, Summary: "recorded", License: "MIT", Time: signedAt}, u.key))
			p.data, p.size = data.Bytes(), int64(data.Len())
		}
		repodata := r.repodata(t, u.key)
		for _, at := range r.at {
			for name, content := range repodata {
				u.files[hostPath(at)+name] = content
			}
			for _, p := range r.packages {
				u.files[hostPath(at)+"Packages/"+strings.ToLower(p.Name[:1])+"/"+p.FileName()] = p.data
			}
		}
	}
	for at := range u.sizes {
		u.files[at] = []byte(at) // recordFiles has its checksum
	}
	clear(u.sizes)
	for ref := range u.images.tags {
		platforms := []string{"linux/amd64", "linux/arm64"}
		u.images.tags[ref] = u.images.image(t, ref, 0, platforms)
	}
}

// circumstances of a build that must not change its bytes.
type circumstances struct {
	umask, zone, language string
	cpus                  int
}

// build runs the program in an empty directory, with a home of its own that has only the keys.
func build(t *testing.T, program string, s site, keys string, c circumstances, flags ...string) (dir string, errs string) {
	t.Helper()
	home, here := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "a", "b")
	must(t, os.MkdirAll(here, 0o755))
	must(t, os.MkdirAll(home, 0o700))
	must(t, os.CopyFS(filepath.Join(home, ".docker"), os.DirFS(filepath.Join(filepath.Dir(s.dir), "home", ".docker"))))
	args := []string{"-c", "umask " + c.umask + `; exec "$@"`, "sh", program, "bundle", "-f", s.config(), "-o", filepath.Join(here, "out")}
	args = append(append(args, "--keys", keys, "--part-size", "64MiB", "--progress", "plain"), flags...)
	cmd := exec.CommandContext(t.Context(), "sh", args...)
	for _, pair := range s.env {
		if !strings.HasPrefix(pair, "HOME=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "TZ="+c.zone, "LANG="+c.language, fmt.Sprintf("GOMAXPROCS=%d", c.cpus))
	cmd.Dir = here
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", stderr.String()
	}
	found, err := filepath.Glob(filepath.Join(here, "out", "*"))
	must(t, err)
	require.Len(t, found, 1)
	return found[0], ""
}

// twice builds a bundle from one lock at different times, in different directories, homes, time zones, with another umask
// and number of CPUs, and compares each byte. A new lock has the time of its first bundle.
func twice(t *testing.T, program string) {
	u := connect(t)
	help, err := exec.CommandContext(t.Context(), program, "bundle", "--help").Output()
	must(t, err)
	s := layOut(t, u, "twice", indented(string(help)), servers{})
	planned := plan(t, program, u, s)
	require.Zero(t, planned.code, planned.wrong)
	u.deliver(t, planned.lock)
	must(t, os.Link(filepath.Join(filepath.Dir(program), "airgap-probe"), filepath.Join(filepath.Dir(program), "airgap-nvml"))) // no GPU asks for it

	keys := filepath.Join(t.TempDir(), "keys")
	here := circumstances{"022", "UTC", "C", 1}
	_, errs := build(t, program, s, keys, here)
	require.Contains(t, errs, "has no key that signs bundles (airgap.key) and no key that signs packages")
	require.Contains(t, errs, "--new-keys")
	require.NoFileExists(t, filepath.Join(s.dir, "airgap.lock"))

	one, errs := build(t, program, s, keys, here, "--new-keys")
	require.Empty(t, errs)
	time.Sleep(1100 * time.Millisecond) // the time in the bundle has seconds
	two, errs := build(t, program, s, keys, circumstances{"077", "Asia/Seoul", "ko_KR.UTF-8", 7})
	require.Empty(t, errs)
	wantSameFiles(t, one, two)

	// The lock of yesterday: the clock has moved by a day since.
	yesterday := yesterdays(t, filepath.Join(s.dir, "airgap.lock"))
	three, errs := build(t, program, s, keys, here)
	require.Empty(t, errs)
	four, errs := build(t, program, s, keys, circumstances{"027", "America/New_York", "en_US.UTF-8", 2})
	require.Empty(t, errs)
	wantSameFiles(t, three, four)
	var index bundle.Index
	text, err := os.ReadFile(filepath.Join(three, bundle.IndexName))
	must(t, err)
	must(t, json.Unmarshal(text, &index))
	assert.Equal(t, yesterday, index.Created)
}

// yesterdays moves the time in a lock by a day.
func yesterdays(t *testing.T, path string) time.Time {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var saved struct{ Created time.Time }
	must(t, json.Unmarshal(text, &saved))
	moved := saved.Created.Add(-24 * time.Hour)
	before, after := saved.Created.Format(time.RFC3339), moved.Format(time.RFC3339)
	require.Equal(t, 1, strings.Count(string(text), before))
	must(t, os.WriteFile(path, []byte(strings.Replace(string(text), before, after, 1)), 0o600))
	return moved
}

func wantSameFiles(t *testing.T, one, two string) {
	t.Helper()
	names := func(dir string) (all []string) {
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			all = append(all, path.Base(e.Name()))
		}
		return all
	}
	require.Equal(t, names(one), names(two))
	for _, name := range names(one) {
		a, err := os.ReadFile(filepath.Join(one, name))
		must(t, err)
		b, err := os.ReadFile(filepath.Join(two, name))
		must(t, err)
		assert.True(t, bytes.Equal(a, b), "%s differs", name)
	}
}
