package nodesteps

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/runtime"
)

// releases are the runtime's, with programs that are not in one chunk.
func releases(t *testing.T, r runtime.Config) map[string][]byte {
	t.Helper()
	var archive bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&archive, gzip.NoCompression)
	w := tar.NewWriter(zipped)
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		text := bytes.Repeat([]byte(name+"\n"), 100_000)
		err := w.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))})
		if _, writing := w.Write(text); err != nil || writing != nil {
			t.Fatal(err, writing)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range r.Files("amd64") {
		files[f.Name] = bytes.Repeat([]byte("runc"), 1<<19)
		if strings.HasSuffix(f.Name, ".gz") {
			files[f.Name] = archive.Bytes()
		}
	}
	return files
}

// TestProgramsOfAFickleStick: the stick gives the right bytes while the bundle is copied,
// and other ones when the programs are installed from it. None of them gets to its place.
func TestProgramsOfAFickleStick(t *testing.T) {
	r := runtime.Config{}
	r.Default("1.36.3")
	files := releases(t, r)
	for name, lies := range map[string]func(nth int) bool{
		"never": func(int) bool { return false }, "always": func(int) bool { return true },
		"at every other read": func(nth int) bool { return nth%2 == 0 }, "at times": func(nth int) bool { return nth%7 == 3 },
	} {
		t.Run(name, func(t *testing.T) {
			on := false
			v := sitetest.StickOf(t, files, func(_ string, nth int) bool { return on && lies(nth) })
			for _, e := range v.Top().Index().Files { // as the store step does
				if _, err := fs.ReadFile(v.FS(), e.Path); err != nil {
					t.Fatal(err)
				}
			}
			on = true
			root := t.TempDir()
			s := runtime.FilesStep(kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.RootHost{Dir: root}, Root: root}}}.Machine, r, "amd64", FromView(v).files)
			err := s.Run(t.Context())
			placed := inBin(t, root)
			switch {
			case name == "never" && (err != nil || len(placed) != 4):
				t.Errorf("%v, %d programs", err, len(placed))
			case name != "never" && (!errors.Is(err, bundle.ErrDamaged) || len(placed) > 0):
				t.Errorf("%v, programs %v", err, placed)
			}
		})
	}
}

func inBin(t *testing.T, root string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, host.BinDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}
