package pieces

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// stick makes a directory like that of a bundle that two persons signed, with parts of these sizes.
func stick(t testing.TB, sizes ...int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bank")
	require.NoError(t, os.Mkdir(dir, 0o755))
	var sums strings.Builder
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
	}
	write(bundle.ProgramName, []byte("#!/bin/sh\n"))
	write(bundle.IndexName, []byte("{}\n"))
	write("empty.txt", nil)
	for i, size := range sizes {
		data := make([]byte, size)
		_, err := rand.Read(data)
		require.NoError(t, err)
		write(fmt.Sprintf("bundle.tar.%03d", i), data)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, bundle.SumsName), []byte(sums.String()), 0o644))
	for _, name := range []string{bundle.SignatureName, bundle.CosignaturesName} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("signature"), 0o644))
	}
	return dir
}

func pack(t testing.TB, o PackOptions) Packed {
	t.Helper()
	if o.Size == "" {
		o.Size = "10MiB"
	}
	if o.Ext == "" {
		o.Ext = ".bin"
	}
	o.Progress = ui.Discard()
	done, err := Pack(context.Background(), o)
	require.NoError(t, err)
	return done
}

func unpack(from, dir string, change func(*UnpackOptions)) (Unpacked, error) {
	o := UnpackOptions{From: []string{from}, Dir: dir, Progress: ui.Discard()}
	if change != nil {
		change(&o)
	}
	return Unpack(context.Background(), o)
}

// same requires that the second directory has exactly the files of the first.
func same(t testing.TB, want, got string) {
	t.Helper()
	wanted, err := os.ReadDir(want)
	require.NoError(t, err)
	is, err := os.ReadDir(got)
	require.NoError(t, err)
	require.Len(t, is, len(wanted))
	for _, e := range wanted {
		a, err := os.ReadFile(filepath.Join(want, e.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), e.Name())
		info, err := os.Stat(filepath.Join(got, e.Name()))
		require.NoError(t, err)
		require.Equal(t, e.Name() == bundle.ProgramName, info.Mode()&0o100 != 0, e.Name())
	}
}

// list returns the paths of the pieces, in the order of their numbers.
func list(t testing.TB, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, filepath.Join(dir, e.Name()))
	}
	return all
}

// TestEachExtension: every piece has at most the size, and is a valid file of its extension. Renamed, in another order,
// with duplicates and junk, the pieces give the same bundle.
func TestEachExtension(t *testing.T) {
	dir := stick(t, 25<<20+7, 12<<20)
	for _, ext := range []string{".zip", ".tar", ".bin", ".001"} {
		t.Run(ext, func(t *testing.T) {
			out, to := t.TempDir(), filepath.Join(t.TempDir(), "bank")
			done := pack(t, PackOptions{Dir: dir, Out: out, Ext: ext})
			require.Equal(t, 4, done.Pieces)
			pieces := list(t, out)
			require.Len(t, pieces, 4)
			for i, path := range pieces {
				info, err := os.Stat(path)
				require.NoError(t, err)
				require.LessOrEqual(t, info.Size(), int64(10<<20))
				require.Equal(t, ext, filepath.Ext(path))
				checkFormat(t, path, ext)
				require.NoError(t, os.Rename(path, filepath.Join(out, fmt.Sprintf("%d.%s.renamed", mathrand.Int(), strings.Repeat("x", i)))))
			}
			copied, err := os.ReadFile(list(t, out)[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(out, "copy"), copied, 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(out, "._junk"), []byte("junk"), 0o644))
			require.NoError(t, os.MkdirAll(filepath.Join(out, "System Volume Information"), 0o755))
			got, err := unpack(out, to, nil)
			require.NoError(t, err)
			require.True(t, got.Complete)
			require.Equal(t, []int{4, 1, 1}, []int{got.New, got.Duplicates, got.Ignored})
			same(t, dir, to)
			again, err := unpack(out, to, nil)
			require.NoError(t, err)
			require.True(t, again.Complete)
			require.Zero(t, again.New)
		})
	}
}

func checkFormat(t *testing.T, path, ext string) {
	t.Helper()
	switch ext {
	case ".zip":
		z, err := zip.OpenReader(path)
		require.NoError(t, err)
		defer z.Close()
		require.Len(t, z.File, 1)
		require.Equal(t, zip.Store, z.File[0].Method)
		require.Zero(t, z.File[0].Flags&8, "sizes behind the content")
		r, err := z.File[0].Open()
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, r) // checks the CRC
		require.NoError(t, err)
		checkWith(t, "unzip", "-tqq", path)
	case ".tar":
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		r := tar.NewReader(f)
		_, err = r.Next()
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, r)
		require.NoError(t, err)
		_, err = r.Next()
		require.ErrorIs(t, err, io.EOF)
		checkWith(t, "tar", "tf", path)
	}
}

// checkWith lets a common tool read a file.
func checkWith(t *testing.T, tool string, args ...string) {
	t.Helper()
	bundletest.Need(t, tool)
	out, err := exec.Command(tool, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestMissingPieces: some pieces are lost. Their list is what pack --only reads, from the command line and from a file, and
// the second trip completes the bundle. The pieces of the first trip are removed before.
func TestMissingPieces(t *testing.T) {
	dir, out, to := stick(t, 75<<20), t.TempDir(), filepath.Join(t.TempDir(), "bank")
	done := pack(t, PackOptions{Dir: dir, Out: out})
	require.Equal(t, 8, done.Pieces)
	sent := list(t, out)
	for _, i := range []int{2, 6, 4, 3} {
		require.NoError(t, os.Remove(sent[i]))
	}
	missing := filepath.Join(t.TempDir(), "missing.txt")
	got, err := unpack(out, to, func(o *UnpackOptions) { o.Missing = missing })
	require.ErrorContains(t, err, "4 pieces of 8 missing: "+done.Set+":3-5,")
	require.Contains(t, advice.Of(err), "--only "+done.Set+":3-5,")
	require.False(t, got.Complete)
	require.NoFileExists(t, filepath.Join(to, bundle.IndexName))
	text, err := os.ReadFile(missing)
	require.NoError(t, err)
	require.Equal(t, done.Set+":"+got.Missing+"\n", string(text))

	second, third := t.TempDir(), t.TempDir()
	require.Equal(t, 2, pack(t, PackOptions{Dir: dir, Out: second, Only: "3-4"}).Written)
	_, err = unpack(second, to, nil)
	require.ErrorContains(t, err, "2 pieces of 8 missing")
	require.Equal(t, 4, pack(t, PackOptions{Dir: dir, Out: third, Only: missing}).Written)
	got, err = unpack(third, to, nil)
	require.NoError(t, err)
	require.Equal(t, []int{6, 2, 2}, []int{got.Had, got.New, got.Duplicates})
	same(t, dir, to)
}

// TestInterruptions: pack and unpack continue after Ctrl-C at any piece, and pack repairs a damaged piece.
func TestInterruptions(t *testing.T) {
	dir, out, to := stick(t, 35<<20), t.TempDir(), filepath.Join(t.TempDir(), "bank")
	for range 2 {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Pack(ctx, PackOptions{Dir: dir, Out: out, Size: "10MiB", Ext: ".zip", Progress: cancelling{ui.Discard(), 12 << 20, cancel}})
		require.ErrorIs(t, err, context.Canceled)
	}
	first := list(t, out)[0]
	data, err := os.ReadFile(first)
	require.NoError(t, err)
	data[5<<20] ^= 1
	require.NoError(t, os.WriteFile(first, data, 0o644))
	done := pack(t, PackOptions{Dir: dir, Out: out, Ext: ".zip"})
	require.Positive(t, done.Kept)
	require.Equal(t, 4, done.Kept+done.Written)
	require.Len(t, list(t, out), 4)
	for i := range 4 {
		half := filepath.Join(t.TempDir(), "half")
		require.NoError(t, os.Mkdir(half, 0o755))
		require.NoError(t, os.Rename(list(t, out)[0], filepath.Join(half, "a")))
		got, err := unpack(half, to, nil)
		require.Equal(t, i == 3, err == nil, "%v", err)
		require.Equal(t, 1, got.New)
	}
	same(t, dir, to)
}

// cancelling cancels after a number of bytes.
type cancelling struct {
	ui.Progress
	after  int64
	cancel func()
}

func (c cancelling) Task(name string, total int64, bytes bool) ui.Task {
	return &cancellingTask{c.Progress.Task(name, total, bytes), c}
}

type cancellingTask struct {
	ui.Task
	c cancelling
}

func (t *cancellingTask) Add(n int64) {
	if t.c.after -= n; t.c.after <= 0 {
		t.c.cancel()
	}
}

// TestParity: with three parity pieces any three pieces may be lost, and a damaged one counts as lost.
func TestParity(t *testing.T) {
	dir, out := stick(t, 55<<20+1), t.TempDir()
	done := pack(t, PackOptions{Dir: dir, Out: out, Ext: ".zip", Parity: 3})
	require.Equal(t, []int{9, 3}, []int{done.Pieces, done.Parity})
	pieces := list(t, out)
	require.NoError(t, os.Remove(pieces[0]))
	require.NoError(t, os.Remove(pieces[5])) // the last one, which is shorter
	require.NoError(t, os.Truncate(pieces[2], 1<<20))
	to := filepath.Join(t.TempDir(), "bank")
	got, err := unpack(out, to, nil)
	require.NoError(t, err)
	require.Equal(t, 3, got.Recovered)
	require.Len(t, got.Problems, 1)
	same(t, dir, to)

	require.NoError(t, os.Remove(pieces[7]))
	_, err = unpack(out, filepath.Join(t.TempDir(), "bank"), nil)
	require.ErrorContains(t, err, "3 pieces of 6 missing: "+done.Set+":1,3,6")
}

// TestRepacked: a gate unpacks ZIP files and packs their content again: compressed, several pieces in one file, in a tar
// file, or a ZIP file in a ZIP file.
func TestRepacked(t *testing.T) {
	dir := stick(t, 25<<20)
	raw, zips := t.TempDir(), t.TempDir()
	pack(t, PackOptions{Dir: dir, Out: raw})
	pack(t, PackOptions{Dir: dir, Out: zips, Ext: ".zip"})
	for _, test := range []struct {
		name string
		from string
		zip  func(w *zip.Writer, name string) (io.Writer, error)
	}{
		{"compressed", raw, (*zip.Writer).Create},
		{"stored", raw, func(w *zip.Writer, name string) (io.Writer, error) {
			return w.CreateHeader(&zip.FileHeader{Name: name})
		}},
		{"a ZIP file in a ZIP file", zips, (*zip.Writer).Create},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, to := t.TempDir(), filepath.Join(t.TempDir(), "bank")
			f, err := os.Create(filepath.Join(out, "transfer-4711.zip"))
			require.NoError(t, err)
			z := zip.NewWriter(f)
			for _, path := range list(t, test.from) {
				w, err := test.zip(z, "../../etc/"+filepath.Base(path))
				require.NoError(t, err)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				_, err = w.Write(data)
				require.NoError(t, err)
			}
			require.NoError(t, z.Close())
			require.NoError(t, f.Close())
			_, err = unpack(out, to, nil)
			require.NoError(t, err)
			same(t, dir, to)
		})
	}
}

// TestHostilePieces: a piece that lies is refused, and nothing outside of the target is written.
func TestHostilePieces(t *testing.T) {
	sum := strings.Repeat("0", 64)
	piece := func(n uint32, manifest string, payload []byte) []byte {
		b := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(manifest)))
		b = append(binary.BigEndian.AppendUint32(b, n), manifest...)
		b = append(b, payload...)
		s := sha256.Sum256(b)
		return append(b, s[:]...)
	}
	one := func(name string, size int64, payload int64) string {
		return fmt.Sprintf(`{"name":"bank","payload":%d,"parity":0,"files":[{"name":%q,"size":%d,"sha256":%q}]}`, payload, name, size, sum)
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"a path", piece(0, one("../../etc/passwd", 3, 4096), []byte("abc")), "invalid entry"},
		{"an absolute path", piece(0, one("/etc/passwd", 3, 4096), []byte("abc")), "invalid entry"},
		{"the journal", piece(0, one(journalName, 3, 4096), []byte("abc")), "invalid entry"},
		{"a negative size", piece(0, one("x", -1, 4096), nil), "impossible size"},
		{"a huge size", piece(0, one("x", 1<<62, 4096), nil), "impossible size"},
		{"a huge number of pieces", piece(0, one("x", 1<<43, 4096), nil), "outside the limits"},
		{"a number behind the end", piece(9, one("x", 3, 4096), []byte("abc")), "piece 10 of a set of 1"},
		{"an unaligned payload", piece(0, one("x", 3, 1), []byte("abc")), "outside the limits"},
		{"huge parity", piece(0, strings.Replace(one("x", 3, 4096), `"parity":0`, `"parity":100000`, 1), []byte("abc")), "outside the limits"},
		{"unknown fields", piece(0, strings.Replace(one("x", 3, 4096), `{`, `{"mode":1,`, 1), nil), "unknown field"},
		{"a huge list", append([]byte(magic), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0), "too long"},
		{"changed bytes", append(piece(0, one("x", 3, 4096), []byte("abc"))[:200], 'x'), "cut off"},
		{"other line ends", bytes.ReplaceAll(piece(0, one("x", 3, 4096), []byte("abc")), []byte("\r\n"), []byte("\n")), "other line ends"},
		{"wrong content", piece(0, one("x", 3, 4096), []byte("abc")), "x does not have its SHA-256"},
	} {
		t.Run(test.name, func(t *testing.T) {
			from, target := t.TempDir(), filepath.Join(t.TempDir(), "bank")
			require.NoError(t, os.WriteFile(filepath.Join(from, "piece.bin"), test.data, 0o644))
			got, err := unpack(from, target, nil)
			require.Error(t, err)
			require.Contains(t, err.Error()+fmt.Sprint(got.Problems), test.want)
			require.False(t, got.Complete)
			above, err := os.ReadDir(filepath.Dir(target))
			require.NoError(t, err)
			require.Len(t, above, 1)
		})
	}
}

// TestTargetIsAProtectedDirectory: links in the target do not lead out of it, and foreign files stay.
func TestTargetIsAProtectedDirectory(t *testing.T) {
	dir, out := stick(t, 1<<20), t.TempDir()
	pack(t, PackOptions{Dir: dir, Out: out})
	to, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(to, "bundle.tar.000"+temporary)))
	_, err := unpack(out, to, nil)
	require.ErrorContains(t, err, "does not belong")
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}
