package pieces

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

func TestCheckExtension(t *testing.T) {
	for _, ext := range []string{".zip", ".tar", ".bin", ".dat", ".001", ".part"} {
		require.NoError(t, CheckExtension(ext), ext)
	}
	for _, ext := range []string{"", "zip", ".ZIP", ".", ".zip/x", ".pdf", ".docx", ".gz", ".txt", ".exe", ".7z", "..bin", ".b in"} {
		require.True(t, advice.IsUsage(CheckExtension(ext)), ext)
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "3,7-9": {3, 7, 8, 9}, "1-2,4-5": {1, 2, 4, 5}} {
		require.Equal(t, want, Ranges(numbers))
	}
	s, err := readSelection("1a2b3c4d:3, 7-9")
	require.NoError(t, err)
	require.Equal(t, "1a2b3c4d", s.set)
	require.Equal(t, map[int]bool{3: true, 7: true, 8: true, 9: true}, s.chosen)
	for _, bad := range []string{"0", "9-7", "1-99999999999", "x", "1,,2", "-", "no-such-file"} {
		_, err := readSelection(bad)
		require.Error(t, err, bad)
	}
}

// TestPackRefuses names the fault of the bundle or of an option.
func TestPackRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(t *testing.T, o *PackOptions)
		want   string
	}{
		{"a small size", func(_ *testing.T, o *PackOptions) { o.Size = "9MiB" }, "10MiB"},
		{"a large size", func(_ *testing.T, o *PackOptions) { o.Size = "5GiB" }, "4095MiB"},
		{"no bundle", func(t *testing.T, o *PackOptions) { o.Dir = t.TempDir() }, bundle.SumsName},
		{"a missing file", func(t *testing.T, o *PackOptions) {
			require.NoError(t, os.Remove(filepath.Join(o.Dir, "bundle.tar.000")))
		}, "bundle.tar.000 is missing"},
		{"a changed file", func(t *testing.T, o *PackOptions) {
			require.NoError(t, os.WriteFile(filepath.Join(o.Dir, bundle.ProgramName), []byte("x"), 0o755))
		}, "airgap does not have the SHA-256 in SHA256SUMS"},
		{"a link in place of the second signature", func(t *testing.T, o *PackOptions) {
			path := filepath.Join(o.Dir, bundle.CosignaturesName)
			require.NoError(t, errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path)))
		}, "SHA256SUMS.cosigned"},
		{"a huge second signature", func(t *testing.T, o *PackOptions) {
			require.NoError(t, os.Truncate(filepath.Join(o.Dir, bundle.CosignaturesName), 1<<30))
		}, "SHA256SUMS.cosigned: larger than"},
		{"another set", func(_ *testing.T, o *PackOptions) { o.Only = "00000000:1" }, "--only is for set 00000000"},
		{"a piece behind the end", func(_ *testing.T, o *PackOptions) { o.Only = "7" }, "there is no piece 7"},
		{"much parity", func(_ *testing.T, o *PackOptions) { o.Parity = 65 }, "--parity"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := PackOptions{Dir: stick(t, 1<<20), Out: t.TempDir(), Size: "10MiB", Ext: ".zip", Progress: ui.Discard()}
			test.change(t, &o)
			_, err := Pack(context.Background(), o)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestUnpackRefuses names what the directory of the pieces or the target has instead.
func TestUnpackRefuses(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	one := pack(t, PackOptions{Dir: stick(t, 15<<20), Out: first})
	two := pack(t, PackOptions{Dir: stick(t, 15<<20), Out: second})
	_, err := unpack(t.TempDir(), filepath.Join(t.TempDir(), "bank"), nil)
	require.ErrorContains(t, err, "no file there is a piece")
	_, err = unpack(filepath.Join(first, "gone"), filepath.Join(t.TempDir(), "bank"), nil)
	require.ErrorContains(t, err, "no such file")
	_, err = unpack(second, filepath.Join(t.TempDir(), "bank"), func(o *UnpackOptions) { o.Set = one.Set })
	require.ErrorContains(t, err, "no piece there is of set "+one.Set+", but of "+two.Set)

	target := filepath.Join(t.TempDir(), "bank")
	require.NoError(t, os.Remove(list(t, first)[0]))
	_, err = unpack(first, target, nil)
	require.ErrorContains(t, err, "1 piece of 2 missing")
	got, err := unpack(second, target, nil) // pieces of another bundle change nothing
	require.ErrorContains(t, err, "1 piece of 2 missing")
	require.Equal(t, map[string]int{two.Set: 2}, got.Others)
}
