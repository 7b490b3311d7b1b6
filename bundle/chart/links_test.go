package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

func chartDir(t *testing.T) string {
	t.Helper()
	return charttest.Directory(t, charttest.Checkout())
}

// TestPackStaysInside: a link cannot add files outside of the chart on the connected host to
// a bundle.
func TestPackStaysInside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "id_rsa")
	must(t, os.WriteFile(secret, []byte("s3cret"), 0o600))
	outside := filepath.Dir(secret)
	for name, c := range map[string]struct{ at, to, want string }{
		"a file":               {"templates/x.yaml", secret, `templates/x.yaml is a link to .*id_rsa, which is not in the chart: replace the link with a copy`},
		"a definition":         {"crds/x.yaml", secret, `crds/x.yaml is a link`},
		"values":               {"extra/values.yaml", secret, `extra/values.yaml is a link`},
		"a directory":          {"files", outside, `files is a link`},
		"a subchart":           {"charts/other", outside, `charts/other is a link`},
		"a relative path":      {"templates/x.yaml", "../../../../../../../../etc/passwd", `templates/x.yaml is a link`},
		"the ignore rules":     {".helmignore", secret, `.helmignore is a link`},
		"a missing file":       {"templates/x.yaml", "nothing", `templates/x.yaml is a link to nothing`},
		"the parent directory": {"templates/up", "..", `templates/up is a link to one of its parent directories`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := chartDir(t)
			at := filepath.Join(dir, c.at)
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			must(t, os.Symlink(c.to, at))
			_, err := chart.Pack(dir)
			wantError(t, err, `pack chart .*: `+c.want)
		})
	}
}

// TestPackFollowsLinksInside: Pack follows links within the chart as Helm does, and omits the
// files in .helmignore.
func TestPackFollowsLinksInside(t *testing.T) {
	dir := chartDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "files"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "files", "a"), []byte("within"), 0o644))
	must(t, os.Symlink("a", filepath.Join(dir, "files", "b")))
	must(t, os.Symlink("files", filepath.Join(dir, "more")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "ignored")))
	must(t, os.Symlink("/etc", filepath.Join(dir, "ignored-dir")))
	must(t, os.WriteFile(filepath.Join(dir, ".helmignore"), []byte("ignored\nignored-dir/\n"), 0o644))
	packed, err := chart.Pack(dir)
	must(t, err)
	names := map[string]string{}
	maps.Copy(names, untar(t, packed))
	for name := range names {
		if strings.Contains(name, "ignored") {
			t.Errorf("%s is in the chart", name)
		}
	}
	for _, name := range []string{"till/files/a", "till/files/b", "till/more/a", "till/more/b"} {
		if names[name] != "within" {
			t.Errorf("%s is %q", name, names[name])
		}
	}
}

func TestPackRefusesPipes(t *testing.T) {
	dir := chartDir(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "templates", "pipe"), 0o644))
	_, err := chart.Pack(dir)
	wantError(t, err, `templates/pipe is not a regular file`)
}

func untar(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	all := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return all
		}
		var b bytes.Buffer
		_, err = b.ReadFrom(r)
		must(t, err)
		all[h.Name] = b.String()
	}
}

// TestHostileArchives: Open refuses links to the outside, special files, and archives that are
// too large after decompression.
func TestHostileArchives(t *testing.T) {
	link := func(kind byte, name, to string) []byte {
		return archive(t, tar.Header{Typeflag: kind, Name: name, Linkname: to}, nil)
	}
	bomb := archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "till/zeros"}, make([]byte, 4<<20))
	nested := bomb
	for range 10 {
		nested = archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "till/charts/sub.tgz"}, nested)
	}
	wide := map[string]string{}
	for i := range 30 {
		wide["charts/s"+strings.Repeat("x", i)+".tgz"] = string(bomb)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a link out":       {link(tar.TypeSymlink, "till/templates/x", "/etc/passwd"), `read chart: till/templates/x is a link to /etc/passwd, which is not in the chart`},
		"a link up":        {link(tar.TypeSymlink, "till/templates/x", "../../../x"), `is a link to ../../../x`},
		"a hard link out":  {link(tar.TypeLink, "till/x", "../x"), `is a link to ../x`},
		"a device":         {link(tar.TypeChar, "till/x", ""), `till/x is not a regular file`},
		"a pipe":           {link(tar.TypeFifo, "till/x", ""), `till/x is not a regular file`},
		"too deep":         {nested, `more than 8 levels deep`},
		"large, in pieces": {charttest.Archive(t, "till", wide), `it is larger than 104857600 bytes`},
		"an absolute name": {archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "till//etc/passwd"}, []byte("x")), `read chart: `},
		"a name with dots": {archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "till/../../x"}, []byte("x")), `read chart: `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chart.Open(c.data)
			wantError(t, err, c.want)
		})
	}
	if _, err := chart.Open(link(tar.TypeSymlink, "till/README", "docs/README.md")); err == nil || strings.Contains(err.Error(), "link") {
		t.Errorf("a link within the chart: %v", err)
	}
}

func archive(t *testing.T, h tar.Header, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	h.Size, h.Mode = int64(len(data)), 0o644
	must(t, w.WriteHeader(&h))
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}

// TestLargeCharts: a chart may be as large as Helm allows, also as a directory, for which the archive
// is not compressed.
func TestLargeCharts(t *testing.T) {
	files := charttest.Checkout()
	for i := range 7 {
		files["files/large"+strings.Repeat("x", i)] = strings.Repeat("0123456789", 480_000)
	}
	packed, err := chart.Pack(charttest.Directory(t, files))
	must(t, err)
	if _, err = chart.Open(packed); err != nil {
		t.Errorf("%d bytes: %v", len(packed), err)
	}
}
